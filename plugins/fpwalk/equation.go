package fpwalk

import (
	"strings"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/apply"
	"github.com/clewdbg/clew/unwind/prologue"
)

// equation writes a rule of the simulation as an equation in the
// architecture's register names.
func (w *walker) equation(rule *prologue.Rule) string {
	frame := prologue.Expr{Base: prologue.Reg(w.fp), Off: recordSize}
	if rule.CFA == frame && rule.RA == atCFA(-8) && rule.FP == atCFA(-16) {
		return w.rule // the most common one costs nothing
	}
	var b strings.Builder
	b.WriteString("cfa=")
	if rule.CFA.Deref {
		b.WriteString("[" + apply.Sum(w.name(rule.CFA.Base), rule.CFA.Off) + "]" + apply.Sum("", rule.CFA.Add))
	} else {
		b.WriteString(apply.Sum(w.name(rule.CFA.Base), rule.CFA.Off))
	}
	ra := "unchanged"
	if w.ra != unwind.NoRegister {
		ra = w.arch.RegisterName(w.ra)
	}
	b.WriteString("; ra=" + w.location(rule.RA, ra))
	b.WriteString("; fp=" + w.location(rule.FP, "unchanged"))
	return b.String()
}

func atCFA(off int64) prologue.Loc { return prologue.Loc{Kind: prologue.AtCFA, Off: off} }

func (w *walker) name(r prologue.Reg) string { return w.arch.RegisterName(unwind.Register(r)) }

// location writes where a value is; same stands for the register itself.
func (w *walker) location(loc prologue.Loc, same string) string {
	switch loc.Kind {
	case prologue.Same:
		return same
	case prologue.InReg:
		return w.name(loc.Reg)
	case prologue.AtCFA:
		return "[" + apply.Sum("cfa", loc.Off) + "]"
	case prologue.AtReg:
		return "[" + apply.Sum(w.name(loc.Reg), loc.Off) + "]"
	}
	return "undefined"
}
