package fpwalk

import (
	"context"
	"fmt"

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

// A result has room for firstSteps steps at first, and for growSteps times as
// many each time that is not enough.
const (
	firstSteps = 32
	growSteps  = 8
)

// walker makes one walk. It is the state of the frame that is left next.
type walker struct {
	*convention
	request *unwind.WalkRequest
	config  config
	result  *unwind.WalkResult
	memory  cursor

	pcValue      uint64
	spValue      uint64 // 0 where the SP is not known: then nothing lies below it
	fpValue      uint64
	fpKnown      bool
	segmentKnown bool
}

// walk fills in the result.
func (w *walker) walk(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.convention = conventions[w.request.Arch]
	if w.convention == nil {
		w.stop(unwind.StopNoRule, "no frame pointer rules for %v", w.request.Arch)
		return nil
	}
	regs := &w.request.Registers
	var pcKnown bool
	w.pcValue, pcKnown = regs.Get(w.pc)
	w.spValue, _ = regs.Get(w.sp)
	w.fpValue, w.fpKnown = regs.Get(w.fp)
	w.segmentKnown = w.request.Segment.High != 0
	w.memory = cursor{windows: w.request.Stack, order: w.arch.ByteOrder()}
	if w.arch != unwind.ARM64 {
		w.config.pacMask = 0
	}
	if !pcKnown {
		w.stop(unwind.StopNoRule, "the program counter is not known")
		return nil
	}
	if w.request.MaxFrames < 1 {
		w.result.Stop = unwind.StopLimit
		return nil
	}
	more := true
	switch {
	case w.request.Kind == unwind.KindInstruction:
		more = w.innermost()
	case w.pcValue < unwind.LowestCode:
		w.stop(unwind.StopEnd, "return address %#x lies below %d (R8)", w.pcValue, unwind.LowestCode)
		return nil
	case w.request.Function != nil:
		more = w.caller()
	}
	for more {
		more = w.record(true)
		if len(w.result.Steps)%checkContext == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// stop ends the walk. It returns false, for record and its like to return.
func (w *walker) stop(stop unwind.WalkStop, format string, args ...any) bool {
	w.result.Stop = stop
	w.result.Reason = fmt.Sprintf(format, args...)
	return false
}

// broken ends the walk where a rule's result is impossible.
func (w *walker) broken(cfa, pc uint64, format string, args ...any) bool {
	w.result.CFA, w.result.PC = cfa, pc
	return w.stop(unwind.StopBroken, format, args...)
}

// need ends the walk for lack of memory in [addr, addr+size). The caller has
// checked that this does not overflow.
func (w *walker) need(addr, size uint64) bool {
	w.result.Stop = unwind.StopMemory
	w.result.Need = unwind.Range{Start: addr, End: addr + size}
	return false
}

// record steps to the caller by the frame record that the frame pointer points
// to (R4, R6), and reports whether the walk goes on. sure: the record is known
// to be this frame's; if not, nothing here is a known end.
func (w *walker) record(sure bool) bool {
	fp := w.fpValue
	switch {
	case !w.fpKnown:
		return w.stop(unwind.StopNoRule, "the frame pointer is not known")
	case fp == 0 && sure:
		return w.stop(unwind.StopEnd, "frame pointer is 0: end of the chain")
	case fp == 0:
		return w.stop(unwind.StopNoRule, "frame pointer is 0, and whether the function uses one could not be checked")
	case fp%8 != 0:
		return w.broken(0, 0, "frame pointer %#x is not a multiple of 8", fp)
	case fp%w.recordAlign != 0:
		return w.stop(unwind.StopNoRule, "frame pointer %#x is no multiple of %d: a Go function's record, which does not determine the CFA (R12)", fp, w.recordAlign)
	case fp > ^uint64(0)-recordSize:
		return w.broken(0, 0, "frame pointer %#x lies at the end of the address space", fp)
	}
	cfa := fp + recordSize
	switch {
	case fp < unwind.LowestCode || !w.arch.Canonical(fp):
		return w.broken(cfa, 0, "frame pointer %#x is not an address", fp)
	case !w.inSegment(fp, cfa):
		return w.broken(cfa, 0, "frame pointer %#x lies outside the stack segment", fp)
	case fp < w.spValue:
		if len(w.result.Steps) > 0 {
			return w.broken(cfa, 0, "frame pointer %#x does not increase", fp)
		}
		return w.broken(cfa, 0, "frame pointer %#x lies below the stack pointer %#x", fp, w.spValue)
	}
	callerFP, ra, ok := w.memory.pair(fp)
	if !ok {
		return w.need(fp, recordSize)
	}
	ra = rule.Strip(ra, w.config.pacMask)
	if more, done := w.judgeReturn(cfa, ra, sure); done {
		return more
	}
	trust, note := unwind.TrustFramePointer, ""
	if !sure {
		trust = unwind.TrustScan
	}
	switch w.judgeCaller(cfa, callerFP) {
	case callerBackwards:
		return w.broken(cfa, ra, "caller's frame pointer %#x does not increase", callerFP)
	case callerNone:
		if !sure {
			return w.broken(cfa, ra, "caller's frame pointer %#x is not an address", callerFP)
		}
		trust, note = unwind.TrustScan, noteBorder
	}
	step := w.push(cfa, ra, trust, w.text, note)
	// All other registers of the caller are unknown from here on.
	step.Caller.Set(w.fp, callerFP)
	w.fpValue = callerFP
	return w.goesOn()
}

// inSegment reports whether memory from low up to high lies in the segment, as
// far as that is known.
func (w *walker) inSegment(low, high uint64) bool {
	return !w.segmentKnown || w.request.Segment.Contains(low) && w.request.Segment.Contains(high)
}

// judgeReturn ends the walk at an invalid return address.
func (w *walker) judgeReturn(cfa, ra uint64, sure bool) (more, done bool) {
	switch {
	case ra < unwind.LowestCode && sure:
		return w.stop(unwind.StopEnd, "return address %#x lies below %d (R8)", ra, unwind.LowestCode), true
	case ra < unwind.LowestCode:
		return w.broken(cfa, ra, "return address %#x lies below %d", ra, unwind.LowestCode), true
	case !w.arch.Canonical(ra):
		return w.broken(cfa, ra, "return address %#x is not an address", ra), true
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
	case callerFP%8 != 0 || callerFP < unwind.LowestCode || !w.arch.Canonical(callerFP):
		return callerNone
	case callerFP >= cfa:
		return callerChained
	case w.segmentKnown && !w.request.Segment.Contains(callerFP):
		return callerChained
	}
	return callerBackwards
}

// push adds a step whose caller has PC and SP, and makes them the walk's.
func (w *walker) push(cfa, ra uint64, trust unwind.Trust, rule, note string) *unwind.Step {
	n := len(w.result.Steps)
	if n == cap(w.result.Steps) {
		w.grow(n)
	}
	w.result.Steps = w.result.Steps[:n+1]
	step := &w.result.Steps[n]
	step.CFA, step.CallerKind, step.Trust, step.Rule, step.Note = cfa, unwind.KindReturn, trust, rule, note
	step.Caller.Set(w.pc, ra)
	step.Caller.Set(w.sp, cfa)
	w.pcValue, w.spValue = ra, cfa
	return step
}

// grow makes room for more than n steps: for as many as the chain has records,
// since reading them is cheap beside copying steps, but not for much more than
// there are already, since a walk may stop early.
func (w *walker) grow(n int) {
	limit := min(max(growSteps*n, firstSteps), w.request.MaxFrames)
	room := n + 1
	for fp := w.fpValue; room < limit; room++ {
		caller, _, ok := w.memory.pair(fp)
		if !ok || caller <= fp {
			break
		}
		fp = caller
	}
	grown := make([]unwind.Step, n, room)
	copy(grown, w.result.Steps)
	w.result.Steps = grown
}

// goesOn reports after a step whether another may follow.
func (w *walker) goesOn() bool {
	lookup := unwind.ReturnAddr(w.pcValue).Lookup(w.arch)
	switch {
	case len(w.config.yield) > 0 && w.config.yield.Contains(uint64(lookup)):
		w.result.Stop = unwind.StopYield
		return false
	case len(w.result.Steps) >= w.request.MaxFrames:
		w.result.Stop = unwind.StopLimit
		return false
	}
	return true
}
