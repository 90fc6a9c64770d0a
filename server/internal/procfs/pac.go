package procfs

import (
	"encoding/binary"
	"math/bits"
	"os"

	"github.com/clewdbg/clew/imagemap"
)

// HasPAC is set in the word AT_HWCAP of a process's auxiliary vector where its code can
// sign addresses (HWCAP_PACA, arch/arm64/include/uapi/asm/hwcap.h).
const HasPAC = 1 << 30

// PACMask has the bits that a signature takes in an address of a process on
// linux/arm64 (R11): those from the size of its address space up to bit 54. Stacks lie
// at the upper end of the address space, so that mappings show its size. It is 0 where
// no mapping is known.
//
// It is what the kernel reports as register set NT_ARM_PAC_MASK, which only a thread
// that traces the process can read. Test: TestPACMask (server/glance), in integration/arm64.
func PACMask(maps []imagemap.Mapping) uint64 {
	const signEnd = 55
	highest := uint64(0)
	for _, m := range maps {
		if m.End>>signEnd == 0 {
			highest = max(highest, m.End-1)
		}
	}
	if highest == 0 {
		return 0
	}
	return 1<<signEnd - 1<<max(smallestSpace, bits.Len64(highest))
}

// smallestSpace is the size of the smallest address space that Linux has with 4 KiB pages,
// in bits.
const smallestSpace = 39

// Signs says whether a process's code can sign addresses: yes where that cannot be
// read.
func Signs(pid int) bool {
	const hwcap = 16 // AT_HWCAP
	auxv, err := os.ReadFile(Path(pid, "auxv"))
	for ; err == nil && len(auxv) >= 16; auxv = auxv[16:] {
		if binary.LittleEndian.Uint64(auxv) == hwcap {
			return binary.LittleEndian.Uint64(auxv[8:])&HasPAC != 0
		}
	}
	return true
}
