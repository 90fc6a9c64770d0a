package apply

import (
	"fmt"
	"strconv"

	"github.com/clewdbg/clew/unwind"
)

// Frame is a frame that rules are applied to.
type Frame struct {
	Registers *unwind.Registers // not changed
	Kind      unwind.PCKind
	Memory    unwind.Windows
	// PACMask has the bits that pointer authentication uses (R11).
	PACMask uint64
}

// Caller is what the rules give.
type Caller struct {
	CFA       uint64
	Registers unwind.Registers // its return address as PC
	Kind      unwind.PCKind
}

// maxNeed bounds what is asked for at once.
const maxNeed = 4096

// Need is the error that asks for size bytes of memory at an address, and for
// what rules will read next, if that is not far: one more turn will do then.
func Need(addr uint64, size int, next ...unwind.Range) error {
	end := addr + uint64(size)
	if end < addr {
		return &ImpossibleError{Reason: fmt.Sprintf("%#x is the end of the address space", addr)}
	}
	need := unwind.Range{Start: addr, End: end}
	for _, r := range next {
		wider := unwind.Range{Start: min(r.Start, need.Start), End: max(r.End, need.End)}
		if r.Start < r.End && wider.End-wider.Start <= maxNeed {
			need = wider
		}
	}
	return &MissingMemory{Range: need}
}

// Add adds an offset to an address, and checks that the sum is one (R10). The
// CFA is for the error, 0 if not known.
func Add(base uint64, off int64, cfa uint64) (uint64, error) {
	sum := base + uint64(off)
	if off >= 0 && sum < base || off < 0 && sum > base {
		return 0, &ImpossibleError{CFA: cfa, Reason: fmt.Sprintf("%#x%+d is no address", base, off)}
	}
	return sum, nil
}

// Strip removes a pointer authentication code from a return address (R11). Bit
// 55 says which half of the address space it is in, and so what the bits under
// the mask were.
func Strip(addr, mask uint64) uint64 {
	if addr&(1<<55) != 0 {
		return addr | mask
	}
	return addr &^ mask
}

// Restored says that the frame pointer is the caller's again though a rule reads
// it relative to itself: a function's own frame pointer lies between its stack
// pointer and its CFA; what its caller has in the register does not, since that
// part of the stack is this function's. (package cfi, realign.go, tells of the
// functions whose rules are like that.)
func (f *Frame) Restored(arch unwind.Arch, cfa uint64) bool {
	fp, ok := f.Registers.FP(arch)
	sp, spKnown := f.Registers.SP(arch)
	return !ok || spKnown && fp < sp || fp >= cfa
}

// Sum writes a base and an offset as equations have them: "cfa", "cfa-8".
func Sum(base string, off int64) string {
	switch {
	case off == 0:
		return base
	case off > 0:
		return base + "+" + strconv.FormatInt(off, 10)
	}
	return base + strconv.FormatInt(off, 10)
}
