package macho

import "fmt"

// CPU is an architecture as Mach-O numbers it (cputype).
type CPU uint32

// The architectures that images are read of.
const (
	I386   CPU = 7
	X86_64 CPU = 7 | abi64
	ARM64  CPU = 12 | abi64

	abi64 CPU = 0x0100_0000
)

// Is64 says whether addresses have 64 bits.
func (c CPU) Is64() bool { return c&abi64 != 0 }

// String names the architecture as Apple's tools do.
func (c CPU) String() string {
	switch c {
	case I386:
		return "i386"
	case X86_64:
		return "x86_64"
	case ARM64:
		return "arm64"
	}
	return fmt.Sprintf("cputype %#x", uint32(c))
}

// known says whether images of the architecture are read.
func (c CPU) known() bool { return c == I386 || c == X86_64 || c == ARM64 }
