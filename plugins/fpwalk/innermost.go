package fpwalk

import (
	"github.com/clewdbg/clew/internal/unwind/simulate"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// Notes on steps from an innermost frame.
const (
	noteLikely  = "the code is reached by indirect jumps only: the rule is likely, not certain"
	noteInexact = "the function's start is only the nearest symbol: the rule may be another function's"
	noteNowhere = "the program counter is no code address: taken as a call to it, whose caller is looked up as at a function's entry"
)

// innermost steps from a frame that was stopped anywhere in its function. The
// frame pointer may not be this frame's yet, or no longer (R4, R6).
func (w *walker) innermost() bool {
	if w.pcValue < unwind.LowestCode {
		// A call through a null pointer. Nothing there can have run.
		entry := rule.Entry(w.Arch)
		return w.apply(&entry, unwind.TrustScan, noteNowhere)
	}
	f := w.Request.Function
	if f == nil || len(f.Code) == 0 {
		return w.unchecked("its code is not known")
	}
	row, why := simulate.At(w.Arch, simulate.Stopped, f.Code, f.Start, w.pcValue)
	switch {
	case row == nil:
		return w.unchecked(why)
	case !f.Exact:
		return w.apply(&row.Rule, unwind.TrustScan, noteInexact)
	}
	return w.applyRow(row)
}

// caller steps from a frame that waits in a call, and whose code is known. If the
// code keeps no frame pointer, the rule that it shows is used, even one that is only
// likely. If the code is not certain, the frame pointer is followed as always, and
// the host trusts it less.
func (w *walker) caller() bool {
	f := w.Request.Function
	if len(f.Code) == 0 || !f.Exact {
		return true
	}
	row, _ := simulate.At(w.Arch, simulate.Waiting, f.Code, f.Start, w.pcValue)
	if row == nil || row.Framed && !w.sized(row) {
		return true
	}
	return w.applyRow(row)
}

// sized reports whether only the code shows a frame's size, and does so for certain.
func (w *walker) sized(row *simulate.Row) bool {
	base := row.CFA.Register
	_, known := w.Request.Registers.Get(base)
	return w.anywhere && row.Sure && row.CFA.From == rule.Register && known
}

func (w *walker) applyRow(row *simulate.Row) bool {
	note := noteLikely
	if row.Sure {
		note = ""
	}
	return w.apply(&row.Rule, unwind.TrustFramePointer, note)
}

// unchecked follows the frame pointer as it is, with a note that this may skip
// the caller.
func (w *walker) unchecked(why string) bool {
	more := w.record(false)
	if len(w.Result.Steps) > 0 {
		w.Result.Steps[0].Note = noteUnchecked + " (" + why + ")"
	}
	return more
}

// apply steps to the caller by a rule from the simulation.
func (w *walker) apply(r *rule.Rule, trust unwind.Trust, note string) bool {
	frame := rule.Frame{Registers: &w.Request.Registers, Kind: w.Request.Kind, Memory: w.Request.Stack,
		PACMask: w.pacMask, Segment: w.Request.Segment}
	var caller rule.Caller
	err := r.Apply(&frame, &caller)
	ra, found := caller.Registers.Get(w.pc)
	if found { // an impossible value is reported before missing memory
		if bad := frame.CheckStack(w.Arch, &caller); bad != nil {
			return w.Failed(bad, true)
		}
		if end := caller.CheckEnd(w.Arch); end != nil {
			return w.Failed(end, trust > unwind.TrustScan)
		}
		if bad := caller.CheckCode(w.Arch); bad != nil {
			return w.Failed(bad, true)
		}
	}
	if err != nil {
		return w.Failed(err, true)
	}
	w.fpValue, w.fpKnown = caller.Registers.Get(w.fp)
	step := w.push(caller.CFA, ra, trust, r.String(), note)
	step.Caller = caller.Registers
	return w.GoesOn(unwind.Code(ra, unwind.KindReturn))
}
