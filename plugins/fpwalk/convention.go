package fpwalk

import (
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// recordSize is the size of a frame record: caller's frame pointer and return
// address.
const recordSize = 16

// convention holds the properties of an architecture for the walk.
type convention struct {
	arch       unwind.Arch
	pc, sp, fp unwind.Register
	// text is the rule of a step along the chain.
	text string
	// recordAlign is the alignment of C's records: 16 on arm64, like SP's. Go's
	// lie at SP-8 there (R12).
	recordAlign uint64
	// simulate finds the rule at an instruction, waiting that of a frame that waits in
	// a call.
	simulate, waiting func(code []byte, start, pc uint64) (prologue.Rule, prologue.Verdict)
}

var (
	amd64 = newConvention(unwind.AMD64, 8, prologue.AMD64, prologue.AMD64Waiting)
	arm64 = newConvention(unwind.ARM64, 16, prologue.ARM64, prologue.ARM64Waiting)
)

func newConvention(arch unwind.Arch, recordAlign uint64, simulate, waiting func(code []byte, start, pc uint64) (prologue.Rule, prologue.Verdict)) *convention {
	chain := rule.FramePointer(arch)
	return &convention{arch: arch, pc: arch.PC(), sp: arch.SP(), fp: arch.FP(), text: chain.String(),
		recordAlign: recordAlign, simulate: simulate, waiting: waiting}
}

func conventionOf(arch unwind.Arch) *convention {
	switch arch {
	case unwind.AMD64:
		return amd64
	case unwind.ARM64:
		return arm64
	}
	return nil
}
