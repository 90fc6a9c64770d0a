package reading_test

import (
	"slices"
	"testing"

	"github.com/clewdbg/clew/server/delve/delvetest"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/unwind"
)

// TestKeepStack: between KeepStack and ForgetStack, Delve has the stack that clew was asked for last. Other stacks of clew's are
// dropped after each question.
func TestKeepStack(t *testing.T) {
	s := delvetest.Launch(t, "")
	th, _ := delvetest.Caller(t, s)
	known := func() bool {
		t.Helper()
		group, unlock := delvetest.Held(t, s)
		defer unlock()
		known, err := reading.Remembers(group.Selected)
		if err != nil {
			t.Fatal(err)
		}
		return known
	}
	ask := func(depth int) []unwind.Frame {
		t.Helper()
		frames, err := s.Claims(th, depth)
		if err != nil {
			t.Fatal(err)
		}
		return frames
	}
	fresh := ask(3)
	if known() {
		t.Error("a stack is remembered that nobody wants remembered")
	}
	s.KeepStack()
	if kept := ask(2); !known() || !slices.EqualFunc(kept, fresh[:2], sameClaim) {
		t.Errorf("remembered: %v; %v, want %v", known(), kept, fresh[:2])
	}
	if more := ask(3); !slices.EqualFunc(more, fresh, sameClaim) {
		t.Errorf("more of a remembered stack: %v, want %v", more, fresh)
	}
	s.PrefetchStack(int64(th.Goroutine), 2)()
	if !known() {
		t.Error("a request has Delve forget the stack")
	}
	s.ForgetStack()
	if known() {
		t.Error("the stack was not forgotten")
	}
	ask(2)
	if known() {
		t.Error("stacks are remembered again without KeepStack")
	}
}

func sameClaim(a, b unwind.Frame) bool {
	return a.PC == b.PC && a.CFA == b.CFA && a.Function == b.Function && a.Line == b.Line
}
