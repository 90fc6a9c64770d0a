package fpwalk

import (
	"github.com/clewdbg/clew/internal/unwind/apply"
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
)

// Notes on steps from an innermost frame.
const (
	noteLikely  = "the code is reached by indirect jumps only: the rule is likely, not certain"
	noteInexact = "the function's start is only the nearest symbol: the rule may be another function's"
	noteNowhere = "the program counter is no code address: taken as a call to it, whose caller is looked up as at a function's entry"
)

// innermost steps from a frame that was stopped anywhere in its function. The
// frame pointer may not be its own yet, or no longer (R4, R6).
func (w *walker) innermost() bool {
	if w.pcValue < minCode {
		// A call through a null pointer. Nothing there can have run.
		return w.apply(&w.entry, unwind.TrustScan, noteNowhere)
	}
	f := w.request.Function
	if f == nil || len(f.Code) == 0 {
		return w.unchecked("its code is not known")
	}
	if w.simulate == nil {
		return w.unchecked("code of " + w.arch.String() + " is not simulated")
	}
	rule, verdict := w.simulate(f.Code, f.Start, w.pcValue)
	if verdict.Kind == prologue.Unknown || rule.Certain == prologue.None {
		return w.unchecked(verdict.Reason)
	}
	switch {
	case !f.Exact:
		return w.apply(&rule, unwind.TrustScan, noteInexact)
	case rule.Certain != prologue.Exact:
		return w.apply(&rule, unwind.TrustFramePointer, noteLikely)
	}
	return w.apply(&rule, unwind.TrustFramePointer, "")
}

// caller steps from a frame that has called somebody, and whose code is known.
// Where the code shows that it keeps no frame pointer, the rule that it shows
// is used, be it only likely; where it leaves a doubt, the frame pointer is followed
// as always, and the host has less trust in that.
func (w *walker) caller() bool {
	f := w.request.Function
	if len(f.Code) == 0 || w.waiting == nil || !f.Exact {
		return true
	}
	rule, verdict := w.waiting(f.Code, f.Start, w.pcValue)
	switch {
	case verdict.Kind == prologue.Unknown || verdict.Kind == prologue.Body:
		return true
	case rule.Certain != prologue.Exact:
		return w.apply(&rule, unwind.TrustFramePointer, noteLikely)
	}
	return w.apply(&rule, unwind.TrustFramePointer, "")
}

// unchecked follows the frame pointer as it is, and says that this may skip
// the caller.
func (w *walker) unchecked(why string) bool {
	more := w.record(false)
	if len(w.result.Steps) > 0 {
		w.result.Steps[0].Note = noteUnchecked + " (" + why + ")"
	}
	return more
}

// apply steps to the caller by a rule from the simulation.
func (w *walker) apply(rule *prologue.Rule, trust unwind.Trust, note string) bool {
	sure := trust > unwind.TrustScan
	cfa, ok := w.eval(rule.CFA)
	if !ok {
		return false
	}
	ra, known, ok := w.locate(w.ra, rule.RA, cfa)
	if !ok {
		return false
	}
	if !known {
		return w.stop(unwind.StopNoRule, "the return address is in a register that is not known")
	}
	ra = apply.Strip(ra, w.config.pacMask)
	if !w.judgeCFA(cfa, ra) {
		return false
	}
	if more, done := w.judgeReturn(cfa, ra, sure); done {
		return more
	}
	// Callee-saved registers are the caller's, unless the rule says otherwise.
	caller := w.request.Registers
	caller.Keep(w.calleeSaved)
	for i := range rule.Saved[:rule.N] {
		if !w.restore(&caller, unwind.Register(rule.Saved[i].Reg), rule.Saved[i].Loc, cfa) {
			return false
		}
	}
	if !w.restore(&caller, w.fp, rule.FP, cfa) {
		return false
	}
	w.fpValue, w.fpKnown = caller.Get(w.fp)
	caller.Set(w.pc, ra)
	caller.Set(w.sp, cfa)
	step := w.push(cfa, ra, trust, w.equation(rule), note)
	step.Caller = caller
	return w.goesOn()
}

// judgeCFA checks the CFA that a rule gave (R3, R10).
func (w *walker) judgeCFA(cfa, ra uint64) bool {
	switch {
	case cfa%w.stackAlign != 0:
		return w.broken(cfa, ra, "CFA %#x is not a multiple of %d", cfa, w.stackAlign)
	case !w.inSegment(cfa, cfa):
		return w.broken(cfa, ra, "CFA %#x lies outside the stack segment", cfa)
	case cfa == w.spValue && w.arch == unwind.ARM64 && ra != w.pcValue:
		return true // a leaf without a frame
	case cfa <= w.spValue:
		return w.broken(cfa, ra, "CFA %#x does not lie above the stack pointer %#x", cfa, w.spValue)
	}
	return true
}

// eval computes an address from the frame's registers. Where it gives false,
// the walk has been ended.
func (w *walker) eval(e prologue.Expr) (uint64, bool) {
	v, ok := w.request.Registers.Get(unwind.Register(e.Base))
	if !ok {
		return 0, w.stop(unwind.StopNoRule, "the CFA depends on %s, which is not known", w.arch.RegisterName(unwind.Register(e.Base)))
	}
	v, ok = add(v, e.Off)
	if !ok {
		return 0, w.broken(0, 0, "the address of the CFA overflows")
	}
	if !e.Deref {
		return v, true
	}
	if v, ok = w.load(v); !ok {
		return 0, false
	}
	if v, ok = add(v, e.Add); !ok {
		return 0, w.broken(0, 0, "the CFA overflows")
	}
	return v, true
}

// locate finds the caller's value of register self. It may not be known; where
// ok is false, the walk has been ended.
func (w *walker) locate(self unwind.Register, loc prologue.Loc, cfa uint64) (v uint64, known, ok bool) {
	base := cfa
	switch loc.Kind {
	case prologue.Same:
		v, known = w.request.Registers.Get(self)
		return v, known, true
	case prologue.InReg:
		v, known = w.request.Registers.Get(unwind.Register(loc.Reg))
		return v, known, true
	case prologue.AtReg:
		if base, known = w.request.Registers.Get(unwind.Register(loc.Reg)); !known {
			return 0, false, true
		}
	case prologue.AtCFA:
	default:
		return 0, false, true
	}
	addr, ok := add(base, loc.Off)
	if !ok {
		return 0, false, w.broken(cfa, 0, "the address of a saved register overflows")
	}
	v, ok = w.load(addr)
	return v, ok, ok
}

// restore sets a caller's register, or forgets it where it is lost.
func (w *walker) restore(caller *unwind.Registers, reg unwind.Register, loc prologue.Loc, cfa uint64) bool {
	v, known, ok := w.locate(reg, loc, cfa)
	switch {
	case !ok:
		return false
	case known:
		caller.Set(reg, v)
	default:
		caller.Forget(reg)
	}
	return true
}

// load reads a word. Where it gives false, the walk has been ended.
func (w *walker) load(addr uint64) (uint64, bool) {
	if addr > ^uint64(0)-8 {
		return 0, w.broken(0, 0, "address %#x lies at the end of the address space", addr)
	}
	v, ok := w.memory.word(addr)
	if !ok {
		w.need(addr, 8)
	}
	return v, ok
}

// add is base plus a signed offset; ok is false where it leaves the address
// space (R10).
func add(base uint64, off int64) (sum uint64, ok bool) {
	sum = base + uint64(off)
	return sum, (off >= 0) == (sum >= base)
}
