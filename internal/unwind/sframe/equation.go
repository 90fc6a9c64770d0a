package sframe

import (
	"github.com/clewdbg/clew/internal/unwind/apply"
	"github.com/clewdbg/clew/unwind"
)

// Equations are a row's rules as they are shown: `rsp+16`, `[cfa-8]`, `[rbp-8]`,
// `rdx`, `x30` (still in the link register), `unchanged`, `undefined`.
type Equations struct{ CFA, RA, FP string }

// Equations writes the row's rules.
func (r *Row) Equations() Equations {
	if r.RA.Kind == Undefined {
		return Equations{CFA: "undefined", RA: "undefined", FP: "undefined"}
	}
	link := "unchanged"
	if lr := r.arch.LR(); lr != unwind.NoRegister {
		link = r.arch.RegisterName(lr)
	}
	return Equations{CFA: r.equation(r.CFA, "undefined"), RA: r.equation(r.RA, link), FP: r.equation(r.FP, "unchanged")}
}

// String writes the rules as [unwind.Step] has them:
// "cfa=rbp+16; ra=[cfa-8]; fp=[cfa-16]".
func (r *Row) String() string {
	eq := r.Equations()
	return "cfa=" + eq.CFA + "; ra=" + eq.RA + "; fp=" + eq.FP
}

// equation writes a rule; same stands for a register that keeps its value.
func (r *Row) equation(rule Rule, same string) string {
	base := "cfa"
	switch rule.Kind {
	case Unchanged:
		return same
	case Undefined:
		return "undefined"
	case FromRegister:
		base = r.arch.RegisterName(rule.Register)
	}
	if rule.Deref {
		return "[" + apply.Sum(base, int64(rule.Offset)) + "]"
	}
	return apply.Sum(base, int64(rule.Offset))
}
