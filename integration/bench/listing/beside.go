package listing

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// thousand is the program of a thousand goroutines, fifty in C or below it.
var thousand = build{name: "thousand", cgo: true}

// beside lists a thousand goroutines by clew and by dlv, beside what the runtime says.
func beside(folder string, args []string) error {
	fl := flag.NewFlagSet("beside", flag.ContinueOnError)
	built := fl.String("built", "", "a folder with the program, as thousand, and dlv, built for this machine elsewhere")
	if err := fl.Parse(args); err != nil || fl.NArg() > 0 {
		return errUsage
	}
	path, dlv := filepath.Join(*built, "thousand"), filepath.Join(*built, "dlv")
	if *built == "" {
		dlv = filepath.Join(folder, "dlv")
		if err := testkit.BuildDlv(dlv); err != nil {
			return err
		}
		var err error
		if path, err = thousand.make(folder, "local", false); err != nil {
			return err
		}
	}
	cmd, report, err := run(path)
	if err != nil {
		return err
	}
	defer end(cmd)
	want := parse(report)
	delete(want, 1) // it wrote the report
	began := time.Now()
	answer, err := ask(cmd.Process.Pid)
	if err != nil {
		return err
	}
	took := time.Since(began)
	stacks := make(map[uint64]*stackjson.Stack)
	for i := range answer.Stacks {
		stacks[answer.Stacks[i].Goroutine] = &answer.Stacks[i]
	}
	peer, peerTook, err := delveStacks(dlv, cmd.Process.Pid, folder)
	if err != nil {
		return err
	}
	var faults []string
	right, peerRight := 0, 0
	for id, said := range want {
		if problem := contradicts(stacks[id], said); problem != "" {
			faults = append(faults, fmt.Sprintf("goroutine %d: %s", id, problem))
		} else {
			right++
		}
		if s := peer[id]; s != nil && slices.Equal(shownOf(s), said.shown()) {
			peerRight++
		}
	}
	fmt.Printf("| tool | goroutines as the runtime says | time |\n|---|---|---|\n| clew | %d of %d | %.1f s |\n| dlv | %d of %d | %.1f s |\n",
		right, len(want), took.Seconds(), peerRight, len(want), peerTook.Seconds())
	if len(want) < 1000 || len(faults) > 0 {
		slices.Sort(faults)
		return fmt.Errorf("%d goroutines, %d differences: %q", len(want), len(faults), faults[:min(len(faults), 10)])
	}
	return nil
}

// delveStacks asks dlv for the stack of every goroutine of a process.
func delveStacks(dlv string, pid int, folder string) (out map[uint64]*stackjson.Stack, took time.Duration, err error) {
	socket := filepath.Join(folder, "dlv.socket")
	began := time.Now()
	cmd := exec.Command(dlv, "attach", strconv.Itoa(pid), "--headless", "--api-version=2", "--check-go-version=false", "--listen=unix:"+socket)
	if err := cmd.Start(); err != nil {
		return nil, 0, err
	}
	defer end(cmd)
	conn, err := net.Dial("unix", socket)
	for ; err != nil && time.Since(began) < time.Minute; conn, err = net.Dial("unix", socket) {
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		return nil, 0, err
	}
	client := rpc2.NewClientFromConn(conn)
	defer func() { err = errors.Join(err, client.Detach(false)) }()
	all, _, err := client.ListGoroutines(0, 0)
	if err != nil {
		return nil, 0, err
	}
	out = make(map[uint64]*stackjson.Stack)
	for _, g := range all {
		frames, err := client.Stacktrace(g.ID, 200, 0, 0, nil)
		if err != nil {
			return nil, 0, err
		}
		s := &stackjson.Stack{}
		for i := range frames {
			f := stackjson.Frame{File: frames[i].File, Line: frames[i].Line}
			if frames[i].Function != nil {
				f.Function = frames[i].Function.Name_
			}
			s.Frames = append(s.Frames, f)
		}
		out[uint64(g.ID)] = s
	}
	return out, time.Since(began), nil
}
