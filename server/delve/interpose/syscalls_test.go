package interpose_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/delvetest"
	"github.com/clewdbg/clew/server/delve/held"
	"github.com/clewdbg/clew/server/stepping"
)

// inCall returns a program whose first thread waits in a system call, and the address behind that.
func inCall(t *testing.T) (s *delve.Session, behind uint64) {
	t.Helper()
	s = delvetest.Start(t, delvetest.Build(t, "incall"))
	for range 100 {
		soon, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		if stop := stopsAfter(t, func() (held.Stop, error) { return s.Continue(soon) }); stop.Reason != held.StopManual {
			t.Fatalf("%+v", stop)
		}
		cancel()
		if function, pc := where(t, s); strings.Contains(function, "Syscall6") {
			return s, pc
		}
	}
	t.Fatal("it never waits")
	return nil, 0
}

// stopsAfter lets the program run, which has to stop.
func stopsAfter(t *testing.T, run func() (held.Stop, error)) held.Stop {
	t.Helper()
	done := make(chan held.Stop, 1)
	go func() {
		stop, err := run()
		if err != nil {
			t.Error(err)
		}
		done <- stop
	}()
	select {
	case stop := <-done:
		return stop
	case <-time.After(testneed.Patience(10 * time.Second)):
		panic("the program does not stop") // Delve has the lock, and the session cannot be closed
	}
}

// where says where the thread stands that has stopped.
func where(t *testing.T, s *delve.Session) (function string, pc uint64) {
	t.Helper()
	group, unlock := delvetest.Held(t, s)
	defer unlock()
	regs, err := group.Selected.CurrentThread().Registers()
	if err != nil {
		t.Fatal(err)
	}
	if fn := group.Selected.BinInfo().PCToFunc(regs.PC()); fn != nil {
		function = fn.Name
	}
	return function, regs.PC()
}

// TestStepsInCall: a step of a thread that waits in a system call ends once another one has done what it waits for, though a third one comes to the
// same call, where a step of a line has breakpoints: that one waits there, too.
func TestStepsInCall(t *testing.T) {
	s, behind := inCall(t)
	for n := range 20 {
		stop := stopsAfter(t, func() (held.Stop, error) { return s.Step(context.Background(), stepping.Next) })
		function, pc := where(t, s)
		switch {
		case stop.Reason != held.StopStepped || n == 0 && pc <= behind:
			t.Fatalf("step %d: %+v, in %s at %#x; it was at %#x", n, stop, function, pc, behind)
		case !strings.Contains(function, "Syscall6"):
			return
		}
	}
	t.Error("it does not leave the function")
}

// TestBreakpointBehindCall: a breakpoint behind a system call stops a thread that waits there when it has the call's result, not before.
func TestBreakpointBehindCall(t *testing.T) {
	s, behind := inCall(t)
	id, err := s.BreakAt(behind)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 10 {
		soon, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
		stopsAfter(t, func() (held.Stop, error) { return s.Continue(soon) })
		cancel()
		stop := stopsAfter(t, func() (held.Stop, error) { return s.Continue(context.Background()) })
		if _, pc := where(t, s); stop.Breakpoint != id || pc != behind {
			t.Fatalf("%d: %+v at %#x", n, stop, pc)
		}
	}
}
