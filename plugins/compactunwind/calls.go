package compactunwind

import (
	"slices"

	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/internal/unwind/simulate"
	"github.com/clewdbg/clew/unwind"
)

// callState returns the state of a function that waits in a call: that at the
// call, whose last byte is at addr. The instruction at the return address does
// not serve: it may be the target of jumps, and the call may not return. false:
// the simulation reaches no such call.
func (im *image) callState(code []byte, start, addr uint64) (at uint64, ok bool) {
	var d prologue.Decoder
	for _, at := range d.Calls(im.arch == unwind.ARM64, code, start, addr+1) {
		if row, _ := simulate.At(im.arch, simulate.Stopped, code, start, at); row != nil {
			// A register that the call may have changed cannot be the CFA's base.
			base := row.CFA.Register
			return at, base == im.arch.SP() || slices.Contains(im.arch.CalleeSaved(), base)
		}
	}
	return 0, false
}
