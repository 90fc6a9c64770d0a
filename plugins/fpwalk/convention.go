package fpwalk

import (
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// recordSize is the size of a frame record: caller's frame pointer and return
// address.
const recordSize = 16

// unknownCFA is the rule of a step by a record that lies anywhere in its frame (R12).
const unknownCFA = "cfa=unknown; ra=[x29+8]; fp=[x29]"

// convention holds the properties of an architecture for the walk.
type convention struct {
	pc, sp, fp unwind.Register
	// text is the rule of a step along the chain.
	text string
	// recordAlign is the alignment of C's records: 16 on arm64, like SP's. Go's
	// lie at SP-8 there (R12).
	recordAlign uint64
}

var conventions = map[unwind.Arch]*convention{unwind.AMD64: newConvention(unwind.AMD64, 8), unwind.ARM64: newConvention(unwind.ARM64, 16)}

func newConvention(arch unwind.Arch, recordAlign uint64) *convention {
	chain := rule.FramePointer(arch)
	return &convention{pc: arch.PC(), sp: arch.SP(), fp: arch.FP(), text: chain.String(), recordAlign: recordAlign}
}
