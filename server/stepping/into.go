package stepping

import "github.com/clewdbg/clew/unwind"

// Into is the one call of a line that a step into goes into. The step is a [Next] but for it:
// what else the line calls is passed over, and where the call is not made, the step ends at
// the next line.
type Into struct {
	// Call is the address of the call's instruction.
	Call uint64
	// by is the activation that makes it, as it stands: its stack pointer, its frame pointer
	// where that points into its frame, else 0, and the size of its frame.
	by       Temporary
	fp, size uint64
}

// into describes the activation of the innermost frame, which makes a call.
func (s *Situation) into(call uint64, innermost *unwind.Frame) *Into {
	sp, ok := innermost.Registers.SP(s.Arch)
	if !ok || innermost.CFA <= sp {
		return nil
	}
	out := &Into{Call: call, by: Temporary{SP: sp}, size: innermost.CFA - sp}
	s.locate(&out.by, innermost)
	if fp, ok := innermost.Registers.Get(s.Arch.FP()); ok && fp >= sp && fp < innermost.CFA {
		out.fp = fp
	}
	return out
}

// Enters says whether a thread that stands at a function's first instruction was called by
// the activation. sp and fp are the stack and frame pointers at the call. A deeper activation of the
// same function has its whole frame below: its stack pointer is lower by more than that.
func (i *Into) Enters(thread, sp, fp, goroutine, high uint64) bool {
	moved := uint64(0) // the stack's, since
	if i.by.OnGoroutine {
		if goroutine != i.by.Goroutine {
			return false
		}
		moved = high - i.by.StackHigh
	} else if thread != i.by.Thread {
		return false
	}
	if i.fp != 0 {
		return fp == i.fp+moved
	}
	from := i.by.SP + moved - i.size
	return sp-from-1 < 2*i.size-1
}
