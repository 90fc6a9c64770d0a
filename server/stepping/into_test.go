package stepping

import (
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// TestInto: a call is told apart from the same call by other activations of the function, on
// other stacks, and on a stack that has moved.
func TestInto(t *testing.T) {
	const call = pcLeaf + 0x20
	decide := func(change func(*Situation)) *Into {
		s := situation()
		s.Call = call
		change(s)
		return Decide(Next, s).Into
	}
	// By the stack pointer: the frame has 0x30 bytes.
	by := decide(func(*Situation) {})
	if by == nil || by.Call != call {
		t.Fatalf("%+v", by)
	}
	for _, c := range []struct {
		name       string
		thread, sp uint64
		want       bool
	}{
		{"itself", 7, sp0, true},
		{"with arguments on the stack", 7, sp0 - 0x10, true},
		{"without those that were on it", 7, sp0 + 0x10, true},
		{"one that it calls", 7, sp0 - 0x30, false},
		{"its caller", 7, sp0 + 0x30, false},
		{"far below", 7, 0, false},
		{"another thread", 8, sp0, false},
	} {
		if got := by.Enters(c.thread, c.sp, 0, 1, goHigh); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	// By the frame pointer, which lies in the frame.
	by = decide(func(s *Situation) { s.Stack.Frames[0].Registers.Set(unwind.AMD64.FP(), sp0+0x20) })
	if !by.Enters(7, 0, sp0+0x20, 1, goHigh) || by.Enters(7, sp0, sp0+0x10, 1, goHigh) {
		t.Error("the frame pointer does not tell")
	}
	// On a goroutine's stack, which may have moved.
	by = decide(func(s *Situation) {
		f := &s.Stack.Frames[0]
		f.Segment, f.CFA = 0, goHigh-0x100
		f.Registers.Set(unwind.AMD64.SP(), goHigh-0x140)
	})
	const moved = 0x10_0000
	if !by.Enters(8, goHigh+moved-0x140, 0, 1, goHigh+moved) || by.Enters(8, goHigh+moved-0x180, 0, 1, goHigh+moved) || by.Enters(7, goHigh-0x140, 0, 2, goHigh) {
		t.Error("a stack that has moved, or another goroutine's")
	}
	if by = decide(func(s *Situation) { s.Stack.Frames[0].Registers.Forget(unwind.AMD64.SP()) }); by != nil {
		t.Error("a frame without a stack pointer makes a call")
	}
	if d := Decide(StepOut, situation()); d.Into != nil {
		t.Errorf("a step out goes into %+v", d.Into)
	}
}
