package assembler

import "github.com/clewdbg/clew/unwind"

// stepOwnStack leaves a frame of Go's assembly that has gone to the system stack for
// one call of C, or aligned its stack for it, by simulating its code. Go's tables
// count from an SP that is gone.
func (g *goFrame) stepOwnStack() goWay {
	fn, arch := &g.fn, g.target.Arch
	if g.way != notSwitch || !fn.Asm || !fn.bounded() {
		return goWay{}
	}
	rule := g.certainRule(*fn, g.frame.PC.Raw())
	if rule == nil || rule.base() == arch.SP() {
		return goWay{}
	}
	cfa, known := rule.cfa(&g.frame.Registers)
	step, ok := g.target.stepByRule(rule, cfa)
	if !known || !ok || g.tablesHold(cfa) {
		return goWay{}
	}
	step.Rule = rule.equation(arch)
	if fp, ok := rule.restoreFP(g.target, &step, &g.frame.Registers); ok {
		step.Rule += "; fp=" + fp
	}
	return goWay{candidate: candidate{step: &step, switches: true}}
}

// tablesHold reports whether Go's tables have the same CFA.
func (g *goFrame) tablesHold(cfa uint64) bool {
	return g.fn.HasSPDelta && g.target.Arch == unwind.AMD64 && cfa == g.sp+uint64(g.fn.SPDelta)+8
}
