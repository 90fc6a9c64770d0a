package fpwalk

import (
	"context"

	"github.com/clewdbg/clew/internal/unwind/walk"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// Notes on steps that are less than certain.
const (
	noteUnchecked = "the caller may be missing: whether the function had set up its frame could not be checked"
	noteBorder    = "the caller keeps no frame pointer: its value of that register is no stack address"
)

// checkContext is the number of steps after which a walk checks its context.
const checkContext = 1024

// walker makes one walk. It is the state of the frame that is left next.
type walker struct {
	walk.Walk
	*convention
	target
	memory cursor

	pcValue      uint64
	spValue      uint64 // or less, where the SP is not known
	fpValue      uint64
	fpKnown      bool
	segmentKnown bool
}

// run fills in the result.
func (w *walker) run(ctx context.Context) error {
	regs := &w.Request.Registers
	var pcKnown bool
	w.pcValue, pcKnown = regs.Get(w.pc)
	w.spValue, _ = regs.Get(w.sp)
	w.fpValue, w.fpKnown = regs.Get(w.fp)
	w.segmentKnown = w.Request.Segment.High != 0
	w.memory = cursor{windows: w.Request.Stack, order: w.Arch.ByteOrder()}
	more := true
	switch {
	case !pcKnown:
		more = w.Stop(unwind.StopNoRule, "the program counter is not known")
	case w.Request.Kind == unwind.KindInstruction:
		more = w.innermost()
	case w.pcValue < unwind.LowestCode:
		more = w.Stop(unwind.StopEnd, "return address %#x lies below %d (R8)", w.pcValue, unwind.LowestCode)
	case w.Request.Function != nil:
		more = w.caller()
	}
	for more {
		more = w.record(true)
		if len(w.Result.Steps)%checkContext == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// record steps to the caller by the frame record that the frame pointer points
// to (R4, R6), and reports whether the walk goes on. sure: the record is known
// to be this frame's; if not, nothing here is a known end.
func (w *walker) record(sure bool) bool {
	fp := w.fpValue
	switch {
	case !w.fpKnown:
		return w.Stop(unwind.StopNoRule, "the frame pointer is not known")
	case fp == 0 && sure:
		return w.Stop(unwind.StopEnd, "frame pointer is 0: end of the chain")
	case fp == 0:
		return w.Stop(unwind.StopNoRule, "frame pointer is 0, and whether the function uses one could not be checked")
	case fp%8 != 0:
		return w.Broken(0, 0, "frame pointer %#x is not a multiple of 8", fp)
	case fp%w.recordAlign != 0:
		return w.Stop(unwind.StopNoRule, "frame pointer %#x is no multiple of %d: a Go function's record, which does not determine the CFA (R12)", fp, w.recordAlign)
	case fp > ^uint64(0)-recordSize:
		return w.Broken(0, 0, "frame pointer %#x lies at the end of the address space", fp)
	}
	cfa := fp + recordSize
	switch {
	case fp < unwind.LowestCode || !w.Arch.Canonical(fp):
		return w.Broken(cfa, 0, "frame pointer %#x is not an address", fp)
	case !w.inSegment(fp, cfa):
		return w.Broken(cfa, 0, "frame pointer %#x lies outside the stack segment", fp)
	case fp < w.spValue:
		if len(w.Result.Steps) > 0 {
			return w.Broken(cfa, 0, "frame pointer %#x does not increase", fp)
		}
		return w.Broken(cfa, 0, "frame pointer %#x lies below the stack pointer %#x", fp, w.spValue)
	}
	callerFP, ra, ok := w.memory.pair(fp)
	if !ok {
		return w.Need(unwind.Range{Start: fp, End: fp + recordSize})
	}
	ra = rule.Strip(ra, w.pacMask)
	if more, done := w.judgeReturn(cfa, ra, sure); done {
		return more
	}
	trust, note := unwind.TrustFramePointer, ""
	if !sure {
		trust = unwind.TrustScan
	}
	switch w.judgeCaller(cfa, callerFP) {
	case callerBackwards:
		return w.Broken(cfa, ra, "caller's frame pointer %#x does not increase", callerFP)
	case callerNone:
		if !sure {
			return w.Broken(cfa, ra, "caller's frame pointer %#x is not an address", callerFP)
		}
		trust, note = unwind.TrustScan, noteBorder
	}
	step := w.push(cfa, ra, trust, w.text, note)
	if w.anywhere { // the CFA lies above the record, at an unknown distance: cfa is a lower bound
		step.Caller.Forget(w.sp)
		step.Rule = unknownCFA
	}
	// All other registers of the caller are unknown from here on.
	step.Caller.Set(w.fp, callerFP)
	w.fpValue = callerFP
	return w.GoesOn(unwind.Code(ra, unwind.KindReturn))
}

// inSegment reports whether memory from low up to high lies in the segment, as
// far as that is known.
func (w *walker) inSegment(low, high uint64) bool {
	return !w.segmentKnown || w.Request.Segment.Contains(low) && w.Request.Segment.Contains(high)
}

// judgeReturn ends the walk at an invalid return address.
func (w *walker) judgeReturn(cfa, ra uint64, sure bool) (more, done bool) {
	switch {
	case ra < unwind.LowestCode && sure:
		return w.Stop(unwind.StopEnd, "return address %#x lies below %d (R8)", ra, unwind.LowestCode), true
	case ra < unwind.LowestCode:
		return w.Broken(cfa, ra, "return address %#x lies below %d", ra, unwind.LowestCode), true
	case !w.Arch.Canonical(ra):
		return w.Broken(cfa, ra, "return address %#x is not an address", ra), true
	}
	return true, false
}

// callerKind classifies a caller's frame pointer.
type callerKind uint8

const (
	callerChained   callerKind = iota // the next record, the end of the chain, or another stack
	callerBackwards                   // on this stack and not above this frame
	callerNone                        // no address: the caller keeps no frame pointer
)

// judgeCaller judges the caller's frame pointer. One on another stack is fine:
// Go's C code runs on the thread's stack, and its caller's record lies on the
// goroutine's (R14). The step to that caller still lies on this stack; the host
// decides about going on.
func (w *walker) judgeCaller(cfa, callerFP uint64) callerKind {
	switch {
	case callerFP == 0:
		return callerChained
	case callerFP%8 != 0 || callerFP < unwind.LowestCode || !w.Arch.Canonical(callerFP):
		return callerNone
	case callerFP >= cfa:
		return callerChained
	case w.segmentKnown && !w.Request.Segment.Contains(callerFP):
		return callerChained
	}
	return callerBackwards
}

// push adds a step whose caller has PC and SP, and makes them the walk's.
func (w *walker) push(cfa, ra uint64, trust unwind.Trust, rule, note string) *unwind.Step {
	step := w.Push()
	step.CFA, step.CallerKind, step.Trust, step.Rule, step.Note = cfa, unwind.KindReturn, trust, rule, note
	step.Caller.Set(w.pc, ra)
	step.Caller.Set(w.sp, cfa)
	w.pcValue, w.spValue = ra, cfa
	return step
}
