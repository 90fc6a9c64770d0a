package scan

import (
	"errors"
	"fmt"

	"github.com/clewdbg/clew/internal/unwind/callsite"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// Notes are the evidence for a frame.
const (
	noteCode     = "found by scanning the stack: the call before the return address leads here, and the code of this function agrees that it lies there"
	noteLikely   = "found by scanning the stack: a call ends at the return address, and the code of this function, reached through a jump table, probably has it there"
	noteReached  = "found by scanning the stack: the call before the return address leads here"
	noteIndirect = "found by scanning the stack: a call ends at the return address, but nothing shows that it led here; callers may be missing or not exist"
	noteSignal   = "found by scanning the stack: a signal handler's way back; callers may be missing"
)

// push adds a step whose caller is the candidate, and makes it the frame that is
// left next.
func (w *walker) push(c *candidate) bool {
	step := unwind.Step{CallerKind: unwind.KindReturn, Trust: unwind.TrustScan}
	var r rule.Rule
	if c.entry != nil {
		step.CFA, step.Note, r = c.entry.cfa, noteCode, c.entry.Rule
		if !c.entry.Sure {
			step.Note = noteLikely
		}
	} else {
		step.CFA, step.Note = w.align(c.slot+wordSize), noteIndirect
		switch {
		case c.signal:
			step.Note = noteSignal
		case c.answer == callsite.Reached:
			step.Note = noteReached
		}
		var ok bool
		if r, ok = w.guessed(c.slot, step.CFA); !ok {
			return w.missing()
		}
	}
	if step.CFA <= w.spValue {
		return w.Broken(step.CFA, c.ra, "CFA %#x does not lie above the stack pointer %#x", step.CFA, w.spValue)
	}
	// The place was found on the stack: a rule by another register amounts to the
	// same.
	r.CFA, r.RA = rule.In(w.sp, int64(step.CFA-w.spValue)), rule.AtCFA(-int64(step.CFA-c.slot))
	frame := rule.Frame{Registers: &w.regs, Kind: w.pcAddr.Kind(), Memory: w.source.windows, PACMask: w.config.pacMask}
	var caller rule.Caller
	if err := r.Apply(&frame, &caller); err != nil {
		var memory *rule.MissingMemory
		if !errors.As(err, &memory) {
			return w.Broken(step.CFA, c.ra, "%v", err)
		}
		w.source.need = memory.Range
		return w.missing()
	}
	step.Caller, step.Rule = caller.Registers, r.String()
	bound := w.lowerBound(c)
	if bound {
		step.Caller.Forget(w.sp)
		step.Rule = unknownCFA(&r, step.CFA-w.spValue)
	}
	*w.Push() = step
	w.regs, w.spValue, w.pcAddr, w.function = step.Caller, step.CFA, unwind.Code(c.ra, unwind.KindReturn), nil
	if more := w.GoesOn(w.pcAddr); !more || !bound {
		return more
	}
	return w.Stop(unwind.StopNoRule, "the caller's stack pointer is not known (R12): there is no place from which to scan")
}

// lowerBound says that what lies above the return address in the frame is not known: the CFA is only a lower bound, and the
// caller's stack pointer not known (R12).
//
// Situation: arm64's record may be at the bottom of its frame. Example: any function of gcc's with local
// variables, called through a pointer. Test: TestR12LowerBound.
func (w *walker) lowerBound(c *candidate) bool {
	return w.Arch == unwind.ARM64 && w.config.os == "linux" && c.entry == nil
}

// unknownCFA is the text of a rule whose CFA is a lower bound, so many bytes above the stack pointer.
func unknownCFA(r *rule.Rule, above uint64) string {
	text := fmt.Sprintf("cfa=unknown; ra=[sp+%d]; fp=", above-uint64(-r.RA.Offset))
	switch {
	case r.FP.Deref:
		return text + fmt.Sprintf("[sp+%d]", above-uint64(-r.FP.Offset))
	case r.FP.From == rule.Same:
		return text + "unchanged"
	}
	return text + "undefined"
}

// align returns the lowest stack pointer from addr on.
func (w *walker) align(addr uint64) uint64 {
	a := w.Arch.StackAlignment()
	return (addr + a - 1) &^ (a - 1)
}

// guessed is the rule without the function's code (R7): if the frame's frame
// pointer points right below the return address, it is a record of the two; if
// not, it may be the caller's still. Everything else is lost. Where ok is false,
// memory is missing.
func (w *walker) guessed(slot, cfa uint64) (r rule.Rule, ok bool) {
	r.Arch = w.Arch
	fp, known := w.regs.Get(w.fp)
	if !known {
		return r, true
	}
	if slot >= wordSize && fp == slot-wordSize && fp >= w.spValue {
		saved, ok := w.source.stack(fp)
		if !ok {
			w.source.need = unwind.Range{Start: fp, End: fp + wordSize}
			return r, false
		}
		if saved > slot && saved-slot <= maxRecordGap {
			r.FP = rule.AtCFA(-int64(cfa - fp))
			return r, true
		}
	}
	if fp >= cfa || w.elsewhere(fp) {
		r.FP = rule.Value{From: rule.Same}
	}
	return r, true
}

// elsewhere reports whether a frame pointer may be one of another stack: C code
// that Go has called keeps that of Go's frame, whose stack may lie lower (R14).
func (w *walker) elsewhere(fp uint64) bool {
	s := w.Request.Segment
	return s.High != 0 && !s.Contains(fp) && fp >= unwind.LowestCode && fp%wordSize == 0
}
