package interpose_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/clewdbg/clew/server/delve/delvetest"
	"github.com/clewdbg/clew/server/delve/held"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/delve/interpose"
)

// TestNotPlaced: where the breakpoint cannot be placed, nothing runs, and the error
// says so.
func TestNotPlaced(t *testing.T) {
	s := delvetest.Launch(t, "main.inner")
	_, at := delvetest.Caller(t, s)
	before := delvetest.PC(t, s)
	if err := delvetest.Arm(s, at); err != nil {
		t.Fatal(err)
	}
	restore := interpose.WithoutCode(t, delvetest.Selected(t, s))
	var outside *interpose.OutsideCodeError
	if stop, err := s.Continue(context.Background()); err == nil || !strings.Contains(err.Error(), "cannot be placed") {
		t.Errorf("%+v, %v", stop, err)
	}
	if err := s.EndStep(); !errors.As(err, &outside) {
		t.Errorf("EndStep: %v", err)
	}
	if now := delvetest.PC(t, s); now != before {
		t.Errorf("the program has run from %#x to %#x", before, now)
	}
	restore()
	if stop, err := s.Continue(context.Background()); err != nil || stop.Reason != held.StopExited {
		t.Errorf("afterwards: %+v, %v", stop, err)
	}
}

// TestAnotherRoute: where the program runs by a way that does not lead through the
// runner, the step is an error that names the entry: after the run for a step that
// was armed, and before the next one.
func TestAnotherRoute(t *testing.T) {
	var changed *internals.Error
	s := delvetest.Launch(t, "main.inner")
	_, at := delvetest.Caller(t, s)
	group, unlock := delvetest.Held(t, s)
	r, err := interpose.RunnerOf(group)
	unlock()
	if err != nil {
		t.Fatal(err)
	}
	if err := delvetest.Arm(s, at); err != nil {
		t.Fatal(err)
	}
	held, err := internals.ProcessGroup(group)
	if err != nil {
		t.Fatal(err)
	}
	*held = r.ProcessGroup
	delvetest.Arrive(t, s, "main.inner")
	*held = r
	if err := s.EndStep(); !errors.As(err, &changed) || changed.Entry != internals.EntryProcessGroup {
		t.Errorf("EndStep: %v", err)
	}
	r.Forget()
	if err := delvetest.Arm(s, at); !errors.As(err, &changed) || changed.Entry != internals.EntryProcessGroup {
		t.Errorf("Arm: %v", err)
	}
}

// TestHardcodedID: Delve tells a breakpoint instruction of the program's own by the
// ID that clew has for it.
func TestHardcodedID(t *testing.T) {
	s := delvetest.Launch(t, "")
	for _, th := range delvetest.Selected(t, s).ThreadList() {
		if bp := th.Breakpoint().Breakpoint; bp != nil && bp.LogicalID() == internals.HardcodedID {
			return
		}
	}
	t.Error(internals.Changed(internals.EntryHardcodedID, "no thread has a breakpoint with the ID %d", internals.HardcodedID))
}

// TestReplacedGroup: a group has one runner, however often it is asked for.
func TestReplacedGroup(t *testing.T) {
	s := delvetest.Launch(t, "")
	for range 2 {
		if err := s.Renew(); err != nil {
			t.Fatal(err)
		}
	}
	group, unlock := delvetest.Held(t, s)
	runs, err := internals.ProcessGroup(group)
	unlock()
	if err != nil {
		t.Fatal(err)
	}
	if r, ok := (*runs).(*interpose.Runner); !ok {
		t.Errorf("%T", *runs)
	} else if _, twice := r.ProcessGroup.(*interpose.Runner); twice {
		t.Error("a runner before a runner")
	}
	if interpose.GuardedTwice(t, delvetest.Selected(t, s)) {
		t.Error("a guard before a guard")
	}
}
