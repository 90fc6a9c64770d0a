package steps_test

import (
	"context"
	"testing"

	"github.com/clewdbg/clew/server/delve/delvetest"
	"github.com/clewdbg/clew/server/delve/held"
	"github.com/clewdbg/clew/server/delve/internals"
)

// TestArm: the program stops where the function has returned to, and says that a
// step has ended there.
func TestArm(t *testing.T) {
	s := delvetest.Launch(t, "main.inner")
	_, at := delvetest.Caller(t, s)
	if err := delvetest.Arm(s, at); err != nil {
		t.Fatal(err)
	}
	stop, err := s.Continue(context.Background())
	if err != nil || stop.Reason != held.StopStepped || delvetest.PC(t, s) != at.PC {
		t.Errorf("%+v at %#x, want %#x: %v", stop, delvetest.PC(t, s), at.PC, err)
	}
	if err := s.EndStep(); err != nil {
		t.Error(err)
	}
}

// TestStepCondition: Delve ends a step at a breakpoint of the user's that the step's
// goroutine, or thread, comes to first.
func TestStepCondition(t *testing.T) {
	for _, onGoroutine := range []bool{true, false} {
		s := delvetest.Launch(t, "main.outer")
		th, at := delvetest.Caller(t, s)
		if at.OnGoroutine = onGoroutine; !onGoroutine {
			at.Thread = th.ID
		}
		if err := delvetest.Arm(s, at); err != nil {
			t.Fatal(err)
		}
		delvetest.Arrive(t, s, "main.inner")
		if s.Stepping() {
			t.Error(internals.Changed(internals.EntryStepCondition, "a step goes on (of a goroutine: %v)", onGoroutine))
		}
		if err := s.EndStep(); err != nil {
			t.Error(err)
		}
		_ = s.Close()
	}
}
