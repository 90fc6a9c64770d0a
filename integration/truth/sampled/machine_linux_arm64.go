package sampled

import (
	"fmt"

	"github.com/clewdbg/clew/integration/internal/shadow"
	"github.com/clewdbg/clew/unwind"
)

var arch = unwind.ARM64

// DWARF numbers of registers: of a function's result, and of Go's goroutine.
const regResult, regSP, regG, regPC = 0, 31, 28, 32

const longestCall = 4

func kindOf(code []byte) shadow.Kind { return shadow.KindOfARM64(code) }

// entered is the function whose first instruction comes next.
func (p *process) entered() shadow.Activation {
	return shadow.Activation{CFA: p.regs[regSP], RA: p.regs[arch.LR()]}
}

// settle takes functions off that are over: one that returns goes on at its return address
// with the stack pointer of its call, which it may have had all the time.
func (p *process) settle(kind shadow.Kind) {
	sp := p.regs[regSP]
	p.calls.Settle(sp-1, p.same)
	if n := len(p.calls); kind == shadow.Return && n > 0 && p.calls[n-1] == (shadow.Activation{CFA: sp, RA: p.regs[regPC]}) {
		p.calls = p.calls[:n-1]
	}
}

// lost says that the return address is not where the call has put it: it may be anywhere.
func lost(*process, shadow.Activation) bool { return false }

// noCall reports whether the instruction before ra goes to the next instruction only.
func (p *process) noCall(ra uint64) bool { return p.regs[regPC] == ra }

// passExclusive executes a loop of a load and a store that are exclusive: between two single
// steps the kernel takes the exclusivity away, and the loop would never end.
func (p *process) passExclusive() (err error) {
	var code [64]byte
	size := shadow.BehindExclusive(code[:p.step.Read(p.regs[regPC], code[:])])
	if size == 0 {
		return fmt.Errorf("no store follows the exclusive load at %#x", p.regs[regPC])
	}
	if err := p.step.RunTo(p.regs[regPC] + uint64(size)); err != nil {
		return err
	}
	p.regs, err = p.step.Registers()
	return err
}
