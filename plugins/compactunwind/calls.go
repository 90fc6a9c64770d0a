package compactunwind

import (
	"slices"

	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/internal/unwind/simulate"
	"github.com/clewdbg/clew/unwind"
)

// callState is where the state of a function that waits in a call is to be looked
// for: at the call, whose last byte is at addr. The instruction at the return
// address will not do: it may be the target of jumps, and the call one that does
// not return. false means that the simulation reaches no such call.
func (im *image) callState(code []byte, start, addr uint64) (at uint64, ok bool) {
	var d prologue.Decoder
	for _, at := range d.Calls(im.arch == unwind.ARM64, code, start, addr+1) {
		if row, _, _ := simulate.At(im.arch, code, start, at); row != nil {
			// Registers that the call may have changed find no frame any more.
			base := row.CFA.Register
			return at, base == im.arch.SP() || slices.Contains(im.arch.CalleeSaved(), base)
		}
	}
	return 0, false
}
