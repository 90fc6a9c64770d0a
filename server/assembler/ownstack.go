package assembler

import (
	"github.com/clewdbg/clew/internal/unwind/simulate"
	"github.com/clewdbg/clew/unwind"
)

// stepOwnStack leaves a frame of Go's assembly that has gone to the system stack for
// one call of C, or aligned its stack for it, by simulating its code. Go's tables
// count from an SP that is gone.
func (g *goFrame) stepOwnStack() goWay {
	arch := g.target.Arch
	if g.way != notSwitch || !g.fn.Asm || !g.fn.bounded() {
		return goWay{}
	}
	row := g.certainRow(simulate.Stopped, g.fn, g.frame.PC.Raw())
	if row == nil || row.CFA.Register == arch.SP() {
		return goWay{}
	}
	row.Kept = false // the functions that it calls may be Go's
	if g.by(&row.Rule, &g.frame.Registers) != nil || arch == unwind.AMD64 && g.fn.HasSPDelta && g.step.CFA == g.sp+uint64(g.fn.SPDelta)+8 {
		return goWay{} // the tables have the same CFA
	}
	return goWay{candidate: candidate{step: g.step, switches: true}}
}

// stepBack leaves an asmcgocall that is on the goroutine's stack by SP, because behind
// a call of C the frame pointer may point into the stack from before it grew.
func (g *goFrame) stepBack() goWay {
	if g.way != savesDepth || g.left || !g.leftKnown || g.frame.PC.Kind() != unwind.KindInstruction || g.target.Arch != unwind.AMD64 || !g.fn.HasSPDelta {
		return goWay{}
	}
	if r, err := tablesAMD64(g); err != nil || g.by(&r, &g.frame.Registers) != nil {
		return goWay{}
	}
	return goWay{candidate: candidate{step: g.step}}
}
