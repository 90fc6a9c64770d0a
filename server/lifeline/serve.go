package lifeline

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/clewdbg/clew/server/internal/procfs"
)

// guarded is a process that the guard watches over.
type guarded struct {
	pid     int
	started string // tells it from a later one with the same ID
	kill    bool
	patches map[uint64]Patch
	// attaching: the debugger was about to write breakpoints, and has not yet
	// reported where they are.
	attaching bool
}

// withClient is a guard's second argument where it has inherited the client's connection, as its first file.
const withClient = "client"

// Main serves with what [Start] has given.
func Main() {
	var client *os.File
	if len(os.Args) > 2 && os.Args[2] == withClient {
		client = os.NewFile(3, withClient)
	}
	Serve(os.Stdin, client)
}

// Serve is the guard: it reads what to do until "done", after which it does
// nothing, or the end of the input, after which it does it. client, which may be nil, is told why its session has ended.
func Serve(in io.Reader, client *os.File) {
	wards := map[int]*guarded{}
	var starting *launch
	last := lastWords{client: client}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if last.hear(lines.Text()) {
			continue
		}
		fields := strings.Fields(lines.Text())
		if len(fields) == 1 && fields[0] == wordDone {
			return
		}
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case wordLaunch:
			if starting = parseLaunch(lines.Text()); starting != nil {
				last.reads = starting.path
			}
			continue
		case wordAttach:
			last.reads = fileOf(fields[1])
		case wordReads:
			_, _ = fmt.Sscanf(lines.Text(), wordReads+" %q", &last.reads)
			continue
		case wordSay:
			_, _ = fmt.Sscanf(lines.Text(), wordSay+" %q", &last.text)
			continue
		}
		pid, err := strconv.Atoi(fields[1])
		if err != nil || pid <= 1 {
			continue
		}
		w := wards[pid]
		if w == nil {
			w = &guarded{pid: pid, started: startTime(pid), patches: map[uint64]Patch{}}
			wards[pid] = w
		}
		if fields[0] == wordSpare {
			delete(wards, pid)
			continue
		}
		w.learn(fields[0], lines.Text())
		if w.kill {
			starting = nil // this is it
		}
	}
	said := make(chan struct{})
	go func() { // who reads it may be slow
		defer close(said)
		last.say(os.Stderr)
		_ = client.Close() // its other end waits for that; nil has nothing to close
	}()
	if starting != nil {
		starting.kill()
	}
	for _, w := range wards {
		w.serve()
	}
	select {
	case <-said:
	case <-time.After(patience):
	}
}

func (w *guarded) learn(word, line string) {
	switch word {
	case wordKill:
		w.kill = true
	case wordAttach:
		w.attaching = true
	case wordContinue:
		w.attaching = false // all patches were named
	case wordPatch:
		p := Patch{}
		if _, err := fmt.Sscanf(line, wordPatch+" %d %v %x %x", new(int), &p.Addr, &p.Original, &p.Written); err == nil {
			w.patches[p.Addr] = p
		}
	case wordForget:
		var addr uint64
		if _, err := fmt.Sscanf(line, wordForget+" %d %v", new(int), &addr); err == nil {
			delete(w.patches, addr)
		}
	}
}

// Bounds of the time that a process has to come free of its dead tracer.
const (
	patience = 2 * time.Second
	interval = 10 * time.Millisecond
)

// serve kills one process, or mends and continues it.
func (w *guarded) serve() {
	if w.started == "" || startTime(w.pid) != w.started {
		return // it is gone
	}
	if w.kill {
		_ = syscall.Kill(w.pid, syscall.SIGKILL)
		return
	}
	w.restore()
	// Our input closes before the kernel has detached the dead tracer, and only
	// then does the process stop for the SIGSTOP that is left: look until it is
	// free and runs.
	running := 0
	for end := time.Now().Add(patience); time.Now().Before(end) && running < 3; time.Sleep(interval) {
		state, tracer := status(w.pid)
		switch {
		case state == "":
			return
		case tracer != "0":
			running = 0
		case state == "T":
			running = 0
			_ = syscall.Kill(w.pid, syscall.SIGCONT)
		default:
			running++
		}
	}
}

// restore takes the breakpoints out again. Only those that are still there: the
// debugger may have got to it, or the program has replaced its code.
func (w *guarded) restore() {
	mem, err := os.OpenFile(procfs.Path(w.pid, "mem"), os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer mem.Close()
	if w.attaching {
		for _, p := range findBreakpoints(w.pid, mem) {
			w.patches[p.Addr] = p
		}
	}
	for _, p := range w.patches {
		now := make([]byte, len(p.Written))
		if _, err := mem.ReadAt(now, int64(p.Addr)); err == nil && bytes.Equal(now, p.Written) {
			_, _ = mem.WriteAt(p.Original, int64(p.Addr))
		}
	}
}

// status returns a process's state letter and its tracer's ID.
func status(pid int) (state, tracer string) {
	s, err := procfs.ReadStatus(pid)
	if err != nil {
		return "", ""
	}
	state = s.Field("State")
	return state[:min(1, len(state))], s.Field("TracerPid")
}

// Fields of /proc/PID/stat, numbered as in proc_pid_stat(5).
const (
	statParent  = 4
	statSession = 6
	statStart   = 22 // in clock ticks since boot
)

// statField returns a field of /proc/PID/stat after the name, "" if the process is
// gone.
func statField(pid, number int) string {
	stat, err := os.ReadFile(procfs.Path(pid, "stat"))
	if err != nil {
		return ""
	}
	// The second field, the name in parentheses, may hold spaces and parentheses.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if i := number - 3; i < len(fields) {
		return fields[i]
	}
	return ""
}

// startTime is when a process was started, "" if it is gone.
func startTime(pid int) string { return statField(pid, statStart) }
