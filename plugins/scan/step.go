package scan

import (
	"fmt"

	"github.com/clewdbg/clew/internal/unwind/callsite"
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
)

// Notes say what speaks for a frame.
const (
	noteCode     = "found by scanning the stack: what is called before the return address leads here, and the code of this function agrees that it lies there"
	noteLikely   = "found by scanning the stack: a call ends at the return address, and the code of this function, reached through a jump table, probably has it there"
	noteReached  = "found by scanning the stack: what is called before the return address leads here"
	noteIndirect = "found by scanning the stack: a call ends at the return address, but nothing shows that it led here; callers may be missing or not exist"
	noteSignal   = "found by scanning the stack: a signal handler's way back; callers may be missing"
)

// push adds a step whose caller is the candidate, and makes it the frame that is
// left next.
func (w *walker) push(c *candidate) bool {
	step := unwind.Step{CallerKind: unwind.KindReturn, Trust: unwind.TrustScan}
	var fp string
	if c.entry != nil {
		step.CFA, step.Note = c.entry.cfa, noteCode
		if !c.entry.exact {
			step.Note = noteLikely
		}
		var ok bool
		if step.Caller, fp, ok = w.restored(c.entry); !ok {
			return w.missing()
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
		if step.Caller, fp, ok = w.guessed(c.slot, step.CFA); !ok {
			return w.missing()
		}
	}
	if step.CFA <= w.spValue {
		return w.broken(step.CFA, c.ra, "CFA %#x does not lie above the stack pointer %#x", step.CFA, w.spValue)
	}
	step.Caller.Set(w.pc, c.ra)
	step.Caller.Set(w.sp, step.CFA)
	step.Rule = fmt.Sprintf("cfa=%s+%d; ra=[cfa-%d]; fp=%s", w.arch.RegisterName(w.sp), step.CFA-w.spValue, step.CFA-c.slot, fp)
	w.result.Steps = append(w.result.Steps, step)
	w.regs, w.spValue, w.pcAddr, w.function = step.Caller, step.CFA, unwind.Code(c.ra, unwind.KindReturn), nil
	return w.goesOn()
}

// align gives the lowest stack pointer from addr on.
func (w *walker) align(addr uint64) uint64 {
	a := w.arch.StackAlignment()
	return (addr + a - 1) &^ (a - 1)
}

// The frame pointer of a caller, in rules.
const (
	fpUnchanged = "unchanged"
	fpUndefined = "undefined"
)

// restored gives the caller's registers by the function's own code. Where ok is
// false, memory is missing.
func (w *walker) restored(e *entry) (caller unwind.Registers, fp string, ok bool) {
	caller = w.regs
	caller.Keep(w.calleeSaved)
	for _, s := range e.rule.Saved[:e.rule.N] {
		if _, ok := w.restore(&caller, unwind.Register(s.Reg), s.Loc, e.cfa); !ok {
			return caller, "", false
		}
	}
	fp, ok = w.restore(&caller, w.fp, e.rule.FP, e.cfa)
	return caller, fp, ok
}

// restore sets a caller's register, or forgets it where it is lost, and says
// where it was.
func (w *walker) restore(caller *unwind.Registers, reg unwind.Register, loc prologue.Loc, cfa uint64) (where string, ok bool) {
	base, known := cfa, true
	name := "cfa"
	switch loc.Kind {
	case prologue.Same:
		return fpUnchanged, true
	case prologue.AtCFA:
	case prologue.AtReg:
		base, known = w.regs.Get(unwind.Register(loc.Reg))
		name = w.arch.RegisterName(unwind.Register(loc.Reg))
	default:
		known = false
	}
	addr := base + uint64(loc.Off)
	if !known || addr > ^uint64(0)-wordSize {
		caller.Forget(reg)
		return fpUndefined, true
	}
	v, ok := w.source.stack(addr)
	if !ok {
		w.source.need = unwind.Range{Start: addr, End: addr + wordSize}
		return "", false
	}
	caller.Set(reg, v)
	return fmt.Sprintf("[%s%+d]", name, loc.Off), true
}

// guessed gives the caller's frame pointer where the function's code is not known
// (R7): if the frame's own points right below the return address, it is a record
// of the two; if not, it may be the caller's still. Everything else is lost.
func (w *walker) guessed(slot, cfa uint64) (caller unwind.Registers, where string, ok bool) {
	fp, known := w.regs.Get(w.fp)
	if !known {
		return caller, fpUndefined, true
	}
	if slot >= wordSize && fp == slot-wordSize && fp >= w.spValue {
		saved, ok := w.source.stack(fp)
		if !ok {
			w.source.need = unwind.Range{Start: fp, End: fp + wordSize}
			return caller, "", false
		}
		if saved > slot && saved-slot <= maxRecordGap {
			caller.Set(w.fp, saved)
			return caller, fmt.Sprintf("[cfa-%d]", cfa-fp), true
		}
	}
	if fp >= cfa || w.elsewhere(fp) {
		caller.Set(w.fp, fp)
		return caller, fpUnchanged, true
	}
	return caller, fpUndefined, true
}

// elsewhere says that a frame pointer may be one of another stack: C code that Go
// has called keeps that of Go's frame, whose stack may lie lower (R14).
func (w *walker) elsewhere(fp uint64) bool {
	s := w.request.Segment
	return s.High != 0 && !s.Contains(fp) && fp >= minCode && fp%wordSize == 0
}
