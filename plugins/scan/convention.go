package scan

import (
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
)

// The windows in which a return address is looked for, in words (R7).
const (
	words          = 40
	wordsInnermost = 160
	wordSize       = 8
)

// maxRecordGap is the largest distance between two frame records, in bytes (R7).
const maxRecordGap = 128 << 10

// convention holds the properties of an architecture for a scan.
type convention struct {
	arch       unwind.Arch
	pc, sp, fp unwind.Register
	// simulate finds the rule at an instruction, waiting that of a frame that waits in
	// a call.
	simulate, waiting func(code []byte, start, pc uint64) (prologue.Rule, prologue.Verdict)
}

var (
	amd64 = newConvention(unwind.AMD64, prologue.AMD64, prologue.AMD64Waiting)
	arm64 = newConvention(unwind.ARM64, prologue.ARM64, prologue.ARM64Waiting)
)

func newConvention(arch unwind.Arch, simulate, waiting func(code []byte, start, pc uint64) (prologue.Rule, prologue.Verdict)) *convention {
	return &convention{arch: arch, pc: arch.PC(), sp: arch.SP(), fp: arch.FP(), simulate: simulate, waiting: waiting}
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
