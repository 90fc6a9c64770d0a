package compactunwind

import (
	"slices"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/prologue"
	"github.com/clewdbg/clew/unwind/simulate"
)

// The lengths of near calls on x86-64 without prefixes that no compiler writes:
// 5 to a distance, 2 to 8 through a register or memory.
const minCall, maxCall = 2, 8

// callState is where the state of a function that waits in a call is to be looked
// for: at the call, whose last byte is at addr. The instruction at the return
// address will not do: it may be the target of jumps, and the call one that does
// not return. Instructions cannot be read backwards, but of all that end there the
// simulation reaches one at most. false means that it reaches none.
func (im *image) callState(code []byte, start, addr uint64) (at uint64, ok bool) {
	var d prologue.Decoder
	for n := uint64(minCall); n <= maxCall && addr+1-n >= start; n++ {
		at := addr + 1 - n
		in := d.AMD64(code[at-start:], at)
		if in.Len != int(n) || in.Flow != prologue.FlowCall && in.Flow != prologue.FlowCallIndirect {
			continue
		}
		row, _, _ := simulate.At(im.arch, code, start, at)
		if row == nil {
			continue
		}
		// Registers that the call may have changed find no frame any more.
		base := unwind.Register(row.Rule.CFA.Base)
		return at, base == im.arch.SP() || slices.Contains(im.arch.CalleeSaved(), base)
	}
	return 0, false
}
