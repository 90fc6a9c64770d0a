package prologue

import (
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// Rule makes a rule of the simulation's rule r for an architecture. A caller holds
// the registers that it proves, and the callee-saved registers that the function
// has not touched.
func (r *Rule) Rule(arch unwind.Arch) rule.Rule {
	cfa := rule.In(unwind.Register(r.CFA.Base), r.CFA.Off)
	cfa.Deref = r.CFA.Deref
	out := rule.Rule{Arch: arch, Kept: true, CFA: cfa, Add: r.CFA.Add, RA: r.RA.value(), FP: r.FP.value()}
	if r.N > 0 {
		out.Saved = make([]rule.Saved, r.N)
	}
	for i := range out.Saved {
		out.Saved[i] = rule.Saved{Register: unwind.Register(r.Saved[i].Reg), Value: r.Saved[i].Loc.value()}
	}
	return out
}

// value is where a caller's register is.
func (loc Loc) value() rule.Value {
	switch loc.Kind {
	case Same:
		return rule.Value{From: rule.Same}
	case InReg:
		return rule.In(unwind.Register(loc.Reg), 0)
	case AtCFA:
		return rule.AtCFA(loc.Off)
	case AtReg:
		return rule.At(unwind.Register(loc.Reg), loc.Off)
	}
	return rule.Value{}
}

// calleeSaved are an architecture's registers that functions keep, without the
// frame pointer.
func calleeSaved(arch unwind.Arch) (saved []Reg) {
	for _, reg := range arch.CalleeSaved() {
		if reg != arch.FP() {
			saved = append(saved, Reg(reg))
		}
	}
	return saved
}
