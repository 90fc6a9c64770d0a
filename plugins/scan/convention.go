package scan

import (
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
)

// minCode is the lowest address that code can have (R8).
const minCode = 4096

// The windows in which a return address is looked for, in words (R7).
const (
	words          = 40
	wordsInnermost = 160
	wordSize       = 8
)

// maxRecordGap is the largest distance between two frame records, in bytes (R7).
const maxRecordGap = 128 << 10

// convention is what a scan needs to know of an architecture.
type convention struct {
	arch       unwind.Arch
	pc, sp, fp unwind.Register
	// simulate finds the rule at an instruction, waiting that of a frame that waits in
	// a call.
	simulate, waiting func(code []byte, start, pc uint64) (prologue.Rule, prologue.Verdict)
	// calleeSaved says which registers a called function keeps.
	calleeSaved func(unwind.Register) bool
}

var amd64 = convention{
	arch: unwind.AMD64, pc: unwind.AMD64RIP, sp: unwind.AMD64RSP, fp: unwind.AMD64RBP,
	simulate: prologue.AMD64, waiting: prologue.AMD64Waiting,
	calleeSaved: func(r unwind.Register) bool {
		return r == unwind.AMD64RBX || r == unwind.AMD64RBP || r >= unwind.AMD64R12 && r < unwind.AMD64RIP
	},
}

var arm64 = convention{
	arch: unwind.ARM64, pc: unwind.ARM64PC, sp: unwind.ARM64SP, fp: unwind.ARM64FP,
	simulate: prologue.ARM64, waiting: prologue.ARM64Waiting,
	calleeSaved: func(r unwind.Register) bool {
		return r >= 19 && r <= unwind.ARM64FP || r >= unwind.ARM64D8 && r < unwind.ARM64D8+8
	},
}

func conventionOf(arch unwind.Arch) *convention {
	switch arch {
	case unwind.AMD64:
		return &amd64
	case unwind.ARM64:
		return &arm64
	}
	return nil
}

// strip removes a pointer authentication code from a return address (R11).
func strip(addr, mask uint64) uint64 {
	if addr&(1<<55) != 0 {
		return addr | mask
	}
	return addr &^ mask
}
