package sampled

import (
	"github.com/clewdbg/clew/integration/internal/shadow"
	"github.com/clewdbg/clew/unwind"
)

var arch = unwind.AMD64

// DWARF numbers of registers: of a function's result, and of Go's goroutine.
const regResult, regSP, regG, regPC = 0, 7, 14, 16

const longestCall = 15

func kindOf(code []byte) shadow.Kind { return shadow.KindOf(code) }

// entered is the function whose first instruction comes next.
func (p *process) entered() shadow.Activation {
	sp := p.regs[regSP]
	return shadow.Activation{CFA: sp + 8, RA: p.word(sp)}
}

// settle takes functions off that are over.
func (p *process) settle(shadow.Kind) { p.calls.Settle(p.regs[regSP], p.same) }

// passExclusive is never needed.
func (p *process) passExclusive() error { return nil }

// lost says that the return address is not where the call has put it.
func lost(p *process, a shadow.Activation) bool { return p.word(a.CFA-8) != a.RA }

// noCall reports whether the instruction before ra only looks like a call: it goes to the next instruction, or
// over a loop that only a wrong prediction enters.
func (p *process) noCall(ra uint64) bool {
	to := p.regs[regPC]
	if to < ra || to-ra > 32 {
		return false
	}
	var loop [3]byte
	return to == ra || p.step.Read(ra, loop[:]) == len(loop) && (loop[0] == 0xf3 && loop[1] == 0x90 || loop == [3]byte{0x0f, 0xae, 0xe8} || loop[0] == 0xcc)
}
