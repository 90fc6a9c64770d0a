package simulate

import (
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// Rule makes one rule of what the simulation has found. A caller holds what it
// proves, and the callee-saved registers that the function has not touched.
func Rule(arch unwind.Arch, found *prologue.Rule) rule.Rule {
	cfa := rule.In(unwind.Register(found.CFA.Base), found.CFA.Off)
	cfa.Deref = found.CFA.Deref
	out := rule.Rule{Arch: arch, Kept: true, CFA: cfa, Add: found.CFA.Add, RA: value(found.RA), FP: value(found.FP)}
	if found.N > 0 {
		out.Saved = make([]rule.Saved, found.N)
	}
	for i := range out.Saved {
		out.Saved[i] = rule.Saved{Register: unwind.Register(found.Saved[i].Reg), Value: value(found.Saved[i].Loc)}
	}
	return out
}

// value is where a caller's register is.
func value(loc prologue.Loc) rule.Value {
	switch loc.Kind {
	case prologue.Same:
		return rule.Value{From: rule.Same}
	case prologue.InReg:
		return rule.In(unwind.Register(loc.Reg), 0)
	case prologue.AtCFA:
		return rule.AtCFA(loc.Off)
	case prologue.AtReg:
		return rule.At(unwind.Register(loc.Reg), loc.Off)
	}
	return rule.Value{}
}
