package engine

import (
	"context"

	"github.com/clewdbg/clew/unwind"
)

// The stack of a rehearsal: as much as is sent for most stacks, and no memory of the program's.
const (
	rehearsedSP   = 1 << 20
	rehearsedSize = 16 << 10
)

// Rehearse asks the strategy that counts most for the code at an address for one step, and takes no notice of
// the answer: its first step costs a process several times as much as later ones. It reads no memory, so the program may run.
func (p *Prepared) Rehearse(ctx context.Context, pc uint64) {
	arch := p.in.Target.Arch
	for _, s := range p.asm.Strategies {
		if !s.Coverage.Contains(pc) {
			continue
		}
		req := unwind.WalkRequest{Arch: arch, Kind: unwind.KindInstruction, MaxFrames: 1}
		req.Registers.Set(arch.PC(), pc)
		req.Registers.Set(arch.SP(), rehearsedSP)
		req.Registers.Set(arch.FP(), rehearsedSP)
		req.Stack = unwind.Windows{{Addr: rehearsedSP, Data: make([]byte, rehearsedSize)}}
		_, _ = s.Unwinder.Walk(ctx, []unwind.WalkRequest{req})
		return
	}
}
