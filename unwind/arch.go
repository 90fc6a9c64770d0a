package unwind

import (
	"encoding/binary"
	"fmt"
)

// Arch is a processor architecture. The zero value is unknown.
type Arch uint8

// The architectures that snapshots and targets can have. ARM is known to the
// caller-address rules only.
const (
	ArchUnknown Arch = iota
	AMD64
	ARM64
	I386
	ARM
	S390X
)

var archNames = [...]string{ArchUnknown: "unknown", AMD64: "amd64", ARM64: "arm64", I386: "386", ARM: "arm", S390X: "s390x"}

// String gives Go's name of the architecture (GOARCH).
func (a Arch) String() string {
	if int(a) < len(archNames) {
		return archNames[a]
	}
	return fmt.Sprintf("arch(%d)", uint8(a))
}

// ParseArch reads what [Arch.String] writes; "unknown" is refused.
func ParseArch(s string) (Arch, error) {
	for i, n := range archNames {
		if i > 0 && n == s {
			return Arch(i), nil
		}
	}
	return ArchUnknown, fmt.Errorf("unknown architecture %q (known: amd64, arm64, 386, arm, s390x)", s)
}

// PointerSize is the size of an address in bytes, 4 or 8.
func (a Arch) PointerSize() int {
	if a == I386 || a == ARM {
		return 4
	}
	return 8
}

// ByteOrder is the architecture's default byte order. (ARM64 can be
// big-endian; who has such a target says so explicitly.)
func (a Arch) ByteOrder() binary.ByteOrder {
	if a == S390X {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// InstructionAlignment is the alignment of instructions in bytes: 4 on ARM64,
// 2 on ARM (Thumb) and s390x, 1 where instructions have no alignment.
func (a Arch) InstructionAlignment() uint64 {
	switch a {
	case ARM64:
		return 4
	case ARM, S390X:
		return 2
	}
	return 1
}

// StackAlignment is what SP is a multiple of in every frame that rule R3
// accepts, in bytes: the word size on x86, since a frame may start at any
// word, and 16 on ARM64, where the processor itself demands it.
func (a Arch) StackAlignment() uint64 {
	switch a {
	case ARM64:
		return 16
	case I386, ARM:
		return 4
	}
	return 8
}
