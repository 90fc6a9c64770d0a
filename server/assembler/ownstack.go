package assembler

import "github.com/clewdbg/clew/unwind"

// stepOwnStack leaves a frame of Go's assembly that has gone to the system stack for
// one call of C, or aligned its stack for it, by its own code. Go's tables count from
// an SP that is gone.
func (g *goFrame) stepOwnStack() goWay {
	fn, arch := &g.fn, g.target.Arch
	if g.way != notSwitch || !fn.Asm || fn.End <= fn.Start || fn.End-fn.Start > maxCode {
		return goWay{}
	}
	rule := g.certainRule(*fn, g.frame.PC.Raw())
	if rule == nil || rule.base() == arch.SP() {
		return goWay{}
	}
	cfa, ok := rule.cfa(&g.frame.Registers)
	if !ok || fn.HasSPDelta && arch == unwind.AMD64 && cfa == g.sp+uint64(fn.SPDelta)+8 {
		return goWay{} // the second: what the tables say holds
	}
	step, ok := g.target.stepByRule(rule, cfa)
	if !ok {
		return goWay{}
	}
	step.Rule = rule.equation(arch)
	if fp, ok := rule.restoreFP(g.target, &step, &g.frame.Registers); ok {
		step.Rule += "; fp=" + fp
	}
	return goWay{step: &step, switches: true}
}
