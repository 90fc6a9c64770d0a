package rule

import "github.com/clewdbg/clew/unwind"

// Frame is a frame that rules are applied to.
type Frame struct {
	Registers *unwind.Registers // not changed
	Kind      unwind.PCKind
	Memory    unwind.Windows
	// PACMask has the bits that pointer authentication uses (R11).
	PACMask uint64
	// Segment is the stack that the frame lies on, zero if not known.
	Segment unwind.Segment
}

// Caller is the result of a rule.
type Caller struct {
	CFA       uint64
	Registers unwind.Registers // its return address as PC
	Kind      unwind.PCKind
}

// Add adds an offset to an address, and checks that the sum is one (R10). The
// CFA is for the error, 0 if not known.
func Add(arch unwind.Arch, base uint64, off int64, cfa uint64) (uint64, error) {
	sum := base + uint64(off)
	if off >= 0 && sum < base || off < 0 && sum > base || sum > 0xffff_ffff && arch.PointerSize() == 4 {
		return 0, notAddress(base, off, cfa)
	}
	return sum, nil
}

// Strip removes a pointer authentication code from a return address (R11). Bit
// 55 selects the half of the address space, and with it the value of the bits
// under the mask.
func Strip(addr, mask uint64) uint64 {
	if addr&(1<<55) != 0 {
		return addr | mask
	}
	return addr &^ mask
}

// restored says that the frame pointer is the caller's again though a rule reads
// it relative to itself: a function's frame pointer lies between its stack
// pointer and its CFA; its caller's does not, since that part of the stack is
// this function's.
func (f *Frame) restored(arch unwind.Arch, cfa uint64) bool {
	fp, ok := f.Registers.FP(arch)
	sp, spKnown := f.Registers.SP(arch)
	return !ok || spKnown && fp < sp || fp >= cfa
}

// maxNeed bounds a single request for memory, in bytes.
const maxNeed = 4096

// Need is the error that asks for size bytes of memory at an address.
func Need(addr uint64, size int) error {
	end := addr + uint64(size)
	if end < addr {
		return &ImpossibleError{Reason: hex(addr) + " is the end of the address space"}
	}
	return &MissingMemory{Range: unwind.Range{Start: addr, End: end}}
}
