package simulate

import (
	"strings"

	"github.com/clewdbg/clew/internal/unwind/apply"
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
)

// Equation writes a rule in the architecture's register names, as steps have it:
// "cfa=rsp+8; ra=[cfa-8]; fp=unchanged".
func Equation(arch unwind.Arch, rule *prologue.Rule) string {
	e := equation{arch}
	var b strings.Builder
	b.WriteString("cfa=")
	if rule.CFA.Deref {
		b.WriteString("[" + apply.Sum(e.name(rule.CFA.Base), rule.CFA.Off) + "]" + apply.Sum("", rule.CFA.Add))
	} else {
		b.WriteString(apply.Sum(e.name(rule.CFA.Base), rule.CFA.Off))
	}
	ra := "unchanged"
	if lr := arch.LR(); lr != unwind.NoRegister {
		ra = arch.RegisterName(lr)
	}
	b.WriteString("; ra=" + e.location(rule.RA, ra))
	b.WriteString("; fp=" + e.location(rule.FP, "unchanged"))
	return b.String()
}

type equation struct{ arch unwind.Arch }

func (e equation) name(r prologue.Reg) string { return e.arch.RegisterName(unwind.Register(r)) }

// location writes where a value is; same stands for the register itself.
func (e equation) location(loc prologue.Loc, same string) string {
	switch loc.Kind {
	case prologue.Same:
		return same
	case prologue.InReg:
		return e.name(loc.Reg)
	case prologue.AtCFA:
		return "[" + apply.Sum("cfa", loc.Off) + "]"
	case prologue.AtReg:
		return "[" + apply.Sum(e.name(loc.Reg), loc.Off) + "]"
	}
	return "undefined"
}
