package assembler

import (
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/prologue"
)

// contradicted says that a run by frame pointers has come to a frame whose own
// code keeps no record {caller's frame pointer, return address} at the frame
// pointer. The frame pointer there is another frame's, and following it would
// skip callers silently. The run is cut, and the strategy is asked again with
// the function's code.
//
// Situation: code with and without frame pointers in one stack. Example: a
// library built with -fomit-frame-pointer calls back into one built with. What
// handles it: the function's code from its start to the call, simulated (R4's
// idea, applied to callers too, where the call says that the frame is whole).
// Functions whose start is unknown, or whose code leaves a doubt, are not
// contradicted. Test: TestRunIsCutWhereCodeKeepsNoFramePointer.
func (w *walker) contradicted() bool {
	f := w.last()
	at := f.PC.Lookup(w.target.Arch)
	w.function(at)
	entry := w.cache[at]
	if !entry.checked {
		entry.checked = true
		entry.contradicted = entry.ok && entry.fn.Exact && !w.keepsRecord(entry.fn, f.PC.Raw())
		w.cache[at] = entry
	}
	return entry.contradicted
}

// keepsRecord says whether the function's code has a frame record at the frame
// pointer when it has called somebody, or that nobody can say.
func (w *walker) keepsRecord(fn Function, pc uint64) bool {
	var simulate func([]byte, uint64, uint64) (prologue.Rule, prologue.Verdict)
	switch w.target.Arch {
	case unwind.AMD64:
		simulate = prologue.AMD64
	case unwind.ARM64:
		simulate = prologue.ARM64
	default:
		return true
	}
	rule, verdict := simulate(w.code(fn, pc), fn.Start, pc)
	if verdict.Kind == prologue.Unknown || verdict.Kind == prologue.Body || rule.Certain != prologue.Exact {
		return true
	}
	fp := prologue.Reg(w.target.Arch.FP())
	onFP := func(l prologue.Loc, want int64) bool {
		switch l.Kind {
		case prologue.AtCFA:
			return rule.CFA.Base == fp && !rule.CFA.Deref && rule.CFA.Off+l.Off == want
		case prologue.AtReg:
			return l.Reg == fp && l.Off == want
		}
		return false
	}
	return onFP(rule.FP, 0) && onFP(rule.RA, int64(w.target.Arch.PointerSize()))
}
