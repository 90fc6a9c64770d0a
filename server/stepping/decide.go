package stepping

import (
	"fmt"
	"strings"

	"github.com/clewdbg/clew/unwind"
)

// Decide says how a step is to be done.
func Decide(cmd Command, s *Situation) Decision {
	d := Decision{Command: cmd, Through: s.Through, Thread: s.Thread.ID, Goroutine: s.Thread.Goroutine, Code: s.Code, Native: s.Native}
	frames, claims := physical(s.Stack.Frames), physical(s.Thread.Claims)
	lines := len(claims) > 0 && claims[0].Function != ""
	if len(frames) > 0 {
		d.SP, _ = frames[0].Registers.SP(s.Arch)
		switch {
		case s.Native:
			lines = d.byLines(s, frames[0])
		case s.Call != 0 && cmd == Next:
			d.Into = s.into(s.Call, frames[0])
		}
	}
	if len(frames) < 2 {
		return d.outermost(s, frames, lines)
	}
	if d.leaveGlue(s, frames, lines) {
		return d
	}
	d.Through = s.Through && !s.glue()[1] // else nothing beyond the glue is known
	caller, reason := s.caller(frames[1])
	if reason != "" {
		d.Reason = reason
		return d
	}
	// Inlined calls are left by their lines, not by returning.
	inlined := len(s.Thread.Claims) > 0 && s.Thread.Claims[0].Inlined
	differs := disagreement(frames, claims)
	switch {
	case s.Native:
		d.Action, d.Caller, d.Reason = Return, caller, "native code"
	case differs == "" && (lines || cmd == StepOut):
		d.Action = Delegate
	case lines && (cmd != StepOut || inlined):
		d.Action, d.Caller, d.Reason = Assist, caller, differs
	default:
		d.Action, d.Caller, d.Reason = Return, caller, differs
		if !lines && cmd != StepOut {
			d.Reason = "this function has no lines: to its caller"
		}
	}
	return d
}

// outermost decides where the stack has no caller.
func (d Decision) outermost(s *Situation, frames []*unwind.Frame, lines bool) Decision {
	switch {
	case len(frames) == 0:
		d.Reason = "the thread has no stack: " + s.Stack.Reason
	case s.Stack.Stop != unwind.End && !(lines && s.atStart()):
		d.Reason = "where this function returns to is not known: " + s.Stack.Reason
	case d.Lines == nil && (d.Command == StepOut || !lines):
		d.Reason = "this is the outermost frame: " + s.Stack.Reason
	case s.Native:
		d.Action, d.Reason = Return, "native code"
	default:
		d.Action = Delegate
	}
	return d
}

// atStart says that the program stands where the kernel or its loader has begun it: nothing has called that code, and what
// lies on the stack is no return address (System V ABI, "Initial Stack and Register State").
func (s *Situation) atStart() bool {
	return len(s.Thread.Claims) > 0 && strings.HasPrefix(s.Thread.Claims[0].Function, "_rt0_")
}

// leaveGlue decides where the innermost frame is glue, or was called by it: to the first
// frame beyond. It returns false for other frames, and where that one cannot be returned to.
func (d *Decision) leaveGlue(s *Situation, frames []*unwind.Frame, lines bool) bool {
	inside := s.Through && s.glue()[0]
	beyond := s.beyond(frames)
	if beyond == 1 && !inside {
		return false
	}
	caller, reason := s.caller(frames[beyond])
	if reason != "" {
		return false
	}
	d.Caller, d.Reason = caller, "through the glue between Go and C"
	d.Action = Return
	if lines && !inside && d.Command != StepOut && !s.Native {
		d.Action = Assist
	}
	return true
}

// caller makes the breakpoint at the assembler's caller, or says what speaks
// against it.
func (s *Situation) caller(caller *unwind.Frame) (t Temporary, reason string) {
	sp, ok := caller.Registers.SP(s.Arch)
	pc := caller.PC.Raw()
	switch {
	case caller.Trust <= unwind.TrustScan && !caller.Shown:
		reason = fmt.Sprintf("where this function returns to is only guessed (%#x, by %s)", pc, caller.Strategy)
		for _, note := range caller.Notes {
			reason += ": " + note
		}
	case !ok:
		reason = fmt.Sprintf("the stack pointer of the caller at %#x is not known", pc)
	case s.onUnknownStack(caller):
		reason = fmt.Sprintf("the caller at %#x has its stack pointer, %#x, on none of the thread's stacks", pc, sp)
	case !s.Executable.Contains(pc):
		reason = fmt.Sprintf("the caller's address %#x lies outside every executable mapping", pc)
	}
	t = Temporary{PC: pc, SP: sp}
	s.locate(&t, caller)
	return t, reason
}

// locate says whose stack a frame lies on.
func (s *Situation) locate(t *Temporary, f *unwind.Frame) {
	t.Thread, t.Goroutine = s.Thread.ID, s.Thread.Goroutine
	if i := f.Segment; i >= 0 && i < len(s.Thread.Segments) && s.Thread.Segments[i].Kind == unwind.SegmentGoroutine {
		t.OnGoroutine, t.StackHigh, t.Thread = true, s.Thread.Segments[i].High, 0
	}
}

// onUnknownStack says that the caller lies on a stack that is not known to be the
// thread's. Where a signal has interrupted code, that may be; a return goes to a
// known stack.
//
// Situation: a frame pointer that outlives its stack. Example: C code calls Go
// back, whose stack grows and moves; when C returns into asmcgocall, its frame
// pointer points to the old stack, whose words are still there. The return
// address is right then, and the stack pointer is not. Test: TestDecide;
// integration/stepping/places, "asmcgocall, the stack moves".
func (s *Situation) onUnknownStack(caller *unwind.Frame) bool {
	return caller.PC.Kind() == unwind.KindReturn && len(s.Thread.Segments) > 0 &&
		(caller.Segment < 0 || caller.Segment >= len(s.Thread.Segments))
}

// disagreement compares the frames that Delve would base a step on with the
// assembler's, and says where they differ, "" if nowhere. Delve places the breakpoint
// at the caller's PC and conditions it on the caller's CFA, and its line
// breakpoints on the CFA of the innermost frame: all must be right.
func disagreement(frames, claims []*unwind.Frame) string {
	if len(claims) < 2 {
		return "Delve knows no caller"
	}
	if a, b := frames[1].PC.Raw(), claims[1].PC.Raw(); a != b {
		return fmt.Sprintf("Delve takes %#x for the return address, it is %#x", b, a)
	}
	for i, what := range []string{"this frame", "the caller"} {
		f, c := frames[i], claims[i]
		if f.PC.Raw() != c.PC.Raw() || f.CFA != 0 && f.CFA != c.CFA {
			return fmt.Sprintf("Delve takes %#x for the CFA of %s, it is %#x", c.CFA, what, f.CFA)
		}
	}
	return ""
}

// physical leaves the inlined frames out, which have no place on the stack.
func physical(frames []unwind.Frame) (out []*unwind.Frame) {
	for i := range frames {
		if !frames[i].Inlined {
			out = append(out, &frames[i])
		}
	}
	return out
}
