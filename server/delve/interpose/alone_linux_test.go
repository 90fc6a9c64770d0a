package interpose_test

import (
	"errors"
	"testing"
	"time"

	"github.com/go-delve/delve/pkg/proc"
	"golang.org/x/sys/unix"

	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/delvetest"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/delve/interpose"
)

// tracerOf returns what runs functions on the thread that traces the session's process.
func tracerOf(t *testing.T, s *delve.Session) func(func()) {
	t.Helper()
	held, err := internals.Process(delvetest.Selected(t, s))
	if err != nil {
		t.Fatal(err)
	}
	trace, err := internals.Tracer(interpose.Below(*held))
	if trace == nil || err != nil {
		t.Fatal(trace == nil, err)
	}
	return trace
}

// TestTracer: what Delve traces a process by answers the kernel's question; no other thread may ask.
func TestTracer(t *testing.T) {
	s := delvetest.Launch(t, "")
	ask := func() error {
		_, err := unix.PtraceGetEventMsg(s.Pid())
		return err
	}
	err := errors.New("not asked")
	tracerOf(t, s)(func() { err = ask() })
	if errors.Is(err, unix.ESRCH) {
		t.Errorf("the thread that traces: %v", err)
	}
	if err := ask(); !errors.Is(err, unix.ESRCH) {
		t.Errorf("another thread: %v", err)
	}
	if trace, err := internals.Tracer(noProcess{}); trace != nil || err != nil {
		t.Errorf("of what Delve does not trace itself: %v, %v", trace != nil, err)
	}
}

type noProcess struct{ proc.ProcessInternal }

// TestRunAlone: a thread runs to the next breakpoint instruction while the others stand, or until time is up.
func TestRunAlone(t *testing.T) {
	s := delvetest.Launch(t, "", "wait")
	delvetest.Arrive(t, s, "main.outer")
	addrs, err := s.Locate("main.inner")
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.BreakAt(addrs...)
	if err != nil {
		t.Fatal(err)
	}
	th, err := s.CurrentThread(nil)
	if err != nil {
		t.Fatal(err)
	}
	trace := tracerOf(t, s)
	if err := interpose.RunAlone(trace, s.Pid(), int(th.ID)); err != nil {
		t.Fatal(err)
	}
	if at := delvetest.PC(t, s); at != addrs[0] && at != addrs[0]+1 { // amd64's moves the program counter
		t.Errorf("it stands at %#x, not at %#x", at, addrs[0])
	}
	if err := s.ClearBreak(id); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	delvetest.Arrive(t, s, "main.point") // no signal is left that would stop it before
	for range 2 {
		if err := interpose.RunAlone(trace, s.Pid(), int(th.ID)); err != nil { // it sleeps
			t.Fatal(err)
		}
	}
	if took := time.Since(begin); took < interpose.Alone {
		t.Errorf("it was not waited for: %v", took)
	}
}
