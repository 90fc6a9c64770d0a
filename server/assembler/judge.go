package assembler

import (
	"fmt"

	"github.com/clewdbg/clew/unwind"
)

// lowestPC is the lowest address of code, the proper end of a chain (R8).
const lowestPC = unwind.LowestCode

// judge applies the common checks (R3) to every step, whoever made it, and
// keeps what they need: how far each stack segment has been used.
type judge struct {
	target   *Target
	segments []unwind.Segment
	// floor is, by segment, what the next CFA must be above; the last element
	// is for a stack whose segments are unknown.
	floor []uint64
	// fresh is set in the innermost frame and one that a signal interrupted: only
	// there may a CFA equal the SP (R3: an arm64 leaf; R10).
	fresh bool
}

// newJudge starts a walk at sp. located is false where segments are known and
// sp lies in none of them.
func newJudge(t *Target, segments []unwind.Segment, sp uint64) (j *judge, located bool) {
	j = &judge{target: t, segments: segments, floor: make([]uint64, len(segments)+1), fresh: true}
	at := j.segmentOf(sp)
	if at < 0 {
		if len(segments) > 0 {
			return j, false
		}
		at = len(segments)
	}
	j.floor[at] = sp
	return j, true
}

// segmentOf gives the smallest segment that addr lies in, -1 for none. (A g0
// stack may lie within the mapping of its thread's stack.)
func (j *judge) segmentOf(addr uint64) int {
	best := -1
	for i, s := range j.segments {
		if s.Contains(addr) && (best < 0 || s.High-s.Low < j.segments[best].High-j.segments[best].Low) {
			best = i
		}
	}
	return best
}

// discover makes a stack of the writable mapping that addr lies in, -1 if there
// is none.
func (j *judge) discover(addr uint64) int {
	r, ok := j.target.Writable.Find(addr)
	if !ok || len(j.segments) == 0 {
		return -1
	}
	return j.learn(unwind.Segment{Low: r.Start, High: r.End, Kind: unwind.SegmentThread})
}

// learn adds a stack. The thread's own list stays as it is; the floor of unknown
// segments stays last.
func (j *judge) learn(s unwind.Segment) int {
	j.segments = append(j.segments[:len(j.segments):len(j.segments)], s)
	j.floor = append(j.floor, 0)
	return len(j.segments) - 1
}

// segment gives the bounds of the stack that addr lies on, zero if unknown.
func (j *judge) segment(addr uint64) unwind.Segment {
	if i := j.segmentOf(addr); i >= 0 {
		return j.segments[i]
	}
	return unwind.Segment{}
}

// accept checks a step from the frame with stack pointer sp and program counter
// pc. mayswitch allows that the caller lies on another stack (R14). It returns
// an empty string and remembers the step, or the reason against it.
func (j *judge) accept(pc, sp uint64, step *unwind.Step, mayswitch bool) string {
	arch := j.target.Arch
	callerPC, ok := step.Caller.PC(arch)
	if !ok {
		return "no return address"
	}
	callerSP, ok := step.Caller.SP(arch)
	if !ok {
		return "no stack pointer for the caller"
	}
	// What a signal interrupted may be a call through a pointer that is none: its PC
	// says so, and is no return address.
	if wild := step.CallerKind == unwind.KindInstruction && mayswitch && (callerPC < lowestPC || j.fetchFailed(sp, callerPC)); !wild {
		if reason := j.checkPC(callerPC); reason != "" {
			return reason
		}
	}
	if callerSP%arch.StackAlignment() != 0 {
		return fmt.Sprintf("the caller's stack pointer %#x is not aligned to %d bytes", callerSP, arch.StackAlignment())
	}
	from, to := j.segmentOf(sp), j.segmentOf(callerSP)
	if to < 0 && mayswitch && step.CallerKind == unwind.KindInstruction {
		// A signal may have interrupted code on any stack; what was called returns to
		// one that is known.
		to = j.discover(callerSP)
	}
	if len(j.segments) == 0 {
		to = 0
	} else {
		if to < 0 {
			return fmt.Sprintf("the caller's stack pointer %#x lies outside the thread's stacks", callerSP)
		}
		if from != to && !mayswitch {
			return fmt.Sprintf("the caller's stack pointer %#x lies on another stack (%s), and this code does not switch stacks",
				callerSP, j.segments[to].Kind)
		}
	}
	floor := j.floor[to]
	// R3: strictly above, but for a leaf whose caller has the same SP, and for
	// gogo, which has no frame on the stack that it goes to: there the PC must
	// change (R10).
	leaf := j.fresh && (mayswitch || arch.LR() != unwind.NoRegister) && callerSP == floor && callerPC != pc
	if callerSP <= floor && floor != 0 && !leaf {
		return fmt.Sprintf("the caller's stack pointer %#x is not above %#x, which the stack has reached already", callerSP, floor)
	}
	j.floor[to] = callerSP
	j.fresh = step.CallerKind == unwind.KindInstruction
	return ""
}

// checkPC says what is wrong with a return address, "" if nothing.
func (j *judge) checkPC(pc uint64) string {
	arch := j.target.Arch
	switch {
	case pc < lowestPC:
		return fmt.Sprintf("return address %#x is below %d", pc, lowestPC)
	case arch == unwind.AMD64 && !arch.Canonical(pc):
		return fmt.Sprintf("return address %#x is not canonical", pc)
	case arch == unwind.ARM64 && !arch.Canonical(pc):
		return fmt.Sprintf("return address %#x is above the user address space", pc)
	case !arch.Canonical(pc):
		return fmt.Sprintf("return address %#x has more than 32 bits", pc)
	}
	if j.target.Executable != nil {
		// A signal's trampoline was not called: it may begin where its mapping does
		// (R9).
		at := uint64(unwind.ReturnAddr(pc).Lookup(arch))
		if !j.target.Executable.Contains(at) && !j.target.isSignalFrame(pc) {
			return fmt.Sprintf("return address %#x lies outside every executable mapping", pc)
		}
	}
	return ""
}
