package fpwalk

import (
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/internal/unwind/simulate"
)

// equation writes a rule of the simulation as an equation in the
// architecture's register names.
func (w *walker) equation(rule *prologue.Rule) string {
	frame := prologue.Expr{Base: prologue.Reg(w.fp), Off: recordSize}
	if rule.CFA == frame && rule.RA == atCFA(-8) && rule.FP == atCFA(-16) {
		return w.rule // the most common one costs nothing
	}
	return simulate.Equation(w.arch, rule)
}

func atCFA(off int64) prologue.Loc { return prologue.Loc{Kind: prologue.AtCFA, Off: off} }
