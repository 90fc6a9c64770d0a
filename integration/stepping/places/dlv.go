package places

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/internal/testkit"
)

// dlv is Delve's own command in a process of its own, spoken to as its terminal
// does.
type dlv struct {
	cmd    *exec.Cmd
	client *rpc2.RPCClient
	target int
	timer  *time.Timer
}

// buildDlv builds Delve's command at the version that clew is built with.
func buildDlv(folder string) (path string, err error) {
	path = filepath.Join(folder, "dlv")
	return path, testkit.BuildDlvAlone(path)
}

var listening = regexp.MustCompile(`API server listening at: (\S+)`)

// startDlv runs the program under dlv until main.ready.
func startDlv(path string, r *run) (debugger, error) {
	args := append([]string{"exec", "--headless", "--api-version=2", "--listen=127.0.0.1:0", "--check-go-version=false",
		"--redirect=stdout:" + r.stdout}, r.args()[0], "--")
	cmd := exec.Command(path, append(args, r.args()[1:]...)...)
	cmd.Env = append(os.Environ(), r.env())
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	d := &dlv{cmd: cmd}
	d.timer = time.AfterFunc(patience, func() { d.kill() })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			d.client = rpc2.NewClient(m[1])
			break
		}
	}
	if d.client == nil {
		d.kill()
		return nil, fmt.Errorf("dlv does not listen")
	}
	go func() {
		for lines.Scan() {
		}
	}()
	d.target = d.client.ProcessPid()
	if _, err := d.client.CreateBreakpoint(&api.Breakpoint{FunctionName: "main.ready"}); err != nil {
		_ = d.close()
		return nil, err
	}
	if s, err := d.resume(); err != nil || s.exited {
		_ = d.close()
		return nil, fmt.Errorf("dlv did not come to main.ready: %+v, %w", s, err)
	}
	return d, nil
}

func (d *dlv) kill() {
	if d.target != 0 {
		if p, err := os.FindProcess(d.target); err == nil {
			_ = p.Kill()
		}
	}
	_ = d.cmd.Process.Kill()
}

func (d *dlv) pid() int { return d.target }

func (d *dlv) breakAt(addrs ...uint64) error {
	all, err := d.client.ListBreakpoints(false)
	if err != nil {
		return err
	}
	for _, bp := range all {
		if bp.ID > 0 {
			if _, err := d.client.ClearBreakpoint(bp.ID); err != nil {
				return err
			}
		}
	}
	if len(addrs) == 0 {
		return nil
	}
	_, err = d.client.CreateBreakpoint(&api.Breakpoint{Addrs: addrs})
	return err
}

func (d *dlv) resume() (state, error) {
	var last *api.DebuggerState
	for s := range d.client.Continue() {
		last = s
	}
	if last == nil {
		return state{}, fmt.Errorf("dlv answered nothing to continue")
	}
	return d.state(last)
}

func (d *dlv) step(command string) (state, error) {
	f := d.client.Next
	if command == stepOut {
		f = d.client.StepOut
	}
	s, err := f()
	if err != nil {
		return state{}, &refusal{err.Error()}
	}
	if s.NextInProgress {
		_ = d.client.CancelNext()
	}
	return d.state(s)
}

func (d *dlv) state(s *api.DebuggerState) (state, error) {
	switch {
	case s.Exited:
		return state{exited: true, status: s.ExitStatus}, nil
	case s.Err != nil:
		return state{}, s.Err
	case s.CurrentThread == nil:
		return state{}, fmt.Errorf("dlv stopped nowhere")
	}
	out := state{thread: uint64(s.CurrentThread.ID), why: "stopped"}
	if bp := s.CurrentThread.Breakpoint; bp != nil {
		out.why = fmt.Sprintf("breakpoint %d %s", bp.ID, bp.Name)
	}
	registers, err := d.client.ListThreadRegisters(s.CurrentThread.ID, false)
	if err != nil {
		return state{}, err
	}
	for _, r := range registers {
		to := map[string]*uint64{"Rip": &out.pc, "PC": &out.pc, "Rsp": &out.sp, "SP": &out.sp, "X30": &out.lr, "LR": &out.lr}[r.Name]
		if to == nil {
			continue
		}
		if *to, err = strconv.ParseUint(r.Value, 0, 64); err != nil {
			return state{}, err
		}
	}
	if v, err := d.client.EvalVariable(api.EvalScope{GoroutineID: -1}, "runtime.curg.stack.hi", api.LoadConfig{}); err == nil {
		out.high, _ = strconv.ParseUint(v.Value, 10, 64)
	}
	return out, nil
}

func (d *dlv) word(addr uint64) (uint64, error) {
	b, _, err := d.client.ExamineMemory(addr, 8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

func (d *dlv) close() error {
	err := d.client.Detach(true)
	d.timer.Stop()
	done := make(chan struct{})
	go func() { _ = d.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience):
		d.kill()
		<-done
	}
	return err
}
