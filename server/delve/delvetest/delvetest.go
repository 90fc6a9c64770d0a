// Package delvetest holds a program under Delve for tests.
package delvetest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/held"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/unwind"
)

// folder holds what tests build. Nothing is built while a program is debugged: Delve
// waits for any child.
var folder string

// Main runs the tests of a package that uses this one, and returns the exit status.
func Main(m *testing.M) int {
	var err error
	if folder, err = os.MkdirTemp("", "clew-delve"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	return m.Run()
}

var (
	mu    sync.Mutex
	built = map[string]error{}
)

// Build builds a program of testdata, once, and returns its path.
func Build(t *testing.T, name string) string {
	t.Helper()
	testneed.Platform(t, "linux/amd64", "linux/arm64")
	testneed.Ptrace(t)
	mu.Lock()
	defer mu.Unlock()
	path := filepath.Join(folder, name)
	err, done := built[name]
	if !done {
		if out, failed := exec.Command("go", "build", "-o", path, "github.com/clewdbg/clew/server/delve/delvetest/testdata/"+name).CombinedOutput(); failed != nil {
			err = errors.New(string(out))
		}
		built[name] = err
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Program returns the path of testdata/stops.
func Program(t *testing.T) string {
	t.Helper()
	return Build(t, "stops")
}

// Launch starts testdata/stops, and has it run to its first stop, or to a function.
func Launch(t *testing.T, function string, args ...string) *delve.Session {
	t.Helper()
	s := Start(t, append([]string{Program(t)}, args...)...)
	if function != "" {
		Arrive(t, s, function)
	}
	return s
}

// Start starts a program, and has it run to its first stop.
func Start(t *testing.T, args ...string) *delve.Session {
	t.Helper()
	s, err := delve.Launch(delve.LaunchConfig{Args: args, NoStdin: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if stop, err := s.Continue(t.Context()); err != nil || stop.Reason != held.StopHardcoded {
		t.Fatalf("%+v, %v", stop, err)
	}
	return s
}

// Arrive has the program run to a function.
func Arrive(t *testing.T, s *delve.Session, function string) {
	t.Helper()
	addrs, err := s.Locate(function)
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.BreakAt(addrs...)
	if err != nil {
		t.Fatal(err)
	}
	if stop, err := s.Continue(t.Context()); err != nil || stop.Breakpoint != id {
		t.Fatalf("%+v, %v", stop, err)
	}
	if err := s.ClearBreak(id); err != nil {
		t.Fatal(err)
	}
}

// Caller returns the thread that has stopped, and its caller as Delve has it.
func Caller(t *testing.T, s *delve.Session) (reading.Thread, stepping.Temporary) {
	t.Helper()
	th, err := s.CurrentThread(nil)
	if err != nil {
		t.Fatal(err)
	}
	frames, err := s.Claims(th, 3)
	if err != nil || len(frames) < 3 {
		t.Fatalf("%d frames, %v", len(frames), err)
	}
	at := stepping.Temporary{PC: frames[1].PC.Raw(), SP: frames[0].CFA, Goroutine: th.Goroutine, OnGoroutine: true}
	for _, seg := range th.Segments {
		if seg.Kind == unwind.SegmentGoroutine {
			at.StackHigh = seg.High
		}
	}
	return th, at
}

// Arm has a session stop at a return.
func Arm(s *delve.Session, at stepping.Temporary) error {
	_, err := s.Arm(&stepping.Decision{Action: stepping.Return, Caller: at})
	return err
}

// Held returns the processes with Delve's lock held.
func Held(t *testing.T, s *delve.Session) (*proc.TargetGroup, func()) {
	t.Helper()
	group, unlock, err := s.Stopped()
	if err != nil {
		t.Fatal(err)
	}
	return group, unlock
}

// Selected is the process that Delve has selected.
func Selected(t *testing.T, s *delve.Session) *proc.Target {
	t.Helper()
	group, unlock := Held(t, s)
	defer unlock()
	return group.Selected
}

// PC is where the thread stands that has stopped.
func PC(t *testing.T, s *delve.Session) uint64 {
	t.Helper()
	th, err := s.CurrentThread(nil)
	if err != nil {
		t.Fatal(err)
	}
	pc, _ := th.Registers.PC(s.Arch())
	return pc
}

// Within fails the test if something takes as long as a lock that is never released.
func Within(t *testing.T, do func()) {
	t.Helper()
	done := make(chan bool)
	go func() { do(); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for Delve's lock")
	}
}
