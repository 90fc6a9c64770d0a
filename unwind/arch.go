package unwind

import (
	"encoding/binary"
	"fmt"
)

// Arch is a processor architecture. The zero value is unknown. Each has a file of
// its name (amd64.go, arm64.go and so on) with its properties, in the same order.
type Arch uint8

// The architectures that snapshots and targets can have. ARM is supported by
// the caller-address rules only.
const (
	ArchUnknown Arch = iota
	AMD64
	ARM64
	I386
	ARM
	S390X
)

// facts are the properties of an architecture.
type facts struct {
	name string // Go's (GOARCH)
	// Sizes and alignments in bytes.
	pointer            int
	instruction, stack uint64
	order              binary.ByteOrder // nil: little-endian
	// Registers by role.
	pc, sp, fp, lr Register
	// saved are the registers that the C ABI makes every function keep.
	saved []Register
	kept  uint64 // the same, as bits of [Registers]
	// userEnd is the last address of user space, and kernel the first one above it,
	// 0 where no code lies there.
	userEnd, kernel uint64
	// register returns a register's name, "" for an invalid number.
	register func(Register) string
}

// LowestCode is the lowest valid address of code: a return address below it ends
// the stack (R8).
const LowestCode = 4096

var (
	unknown = facts{name: "unknown", pointer: 8, instruction: 1, stack: 8, pc: NoRegister, sp: NoRegister, fp: NoRegister, lr: NoRegister,
		userEnd: ^uint64(0), register: listed()}
	architectures = [...]*facts{ArchUnknown: &unknown, AMD64: &amd64, ARM64: &arm64, I386: &i386, ARM: &arm, S390X: &s390x}
)

func init() {
	for _, f := range architectures {
		for _, r := range f.saved {
			f.kept |= 1 << slot(r)
		}
	}
}

func (a Arch) facts() *facts {
	if int(a) < len(architectures) {
		return architectures[a]
	}
	return &unknown
}

// listed names registers by a list that begins with number 0.
func listed(names ...string) func(Register) string {
	return func(r Register) string {
		if int(r) < len(names) {
			return names[r]
		}
		return ""
	}
}

// String returns Go's name of the architecture (GOARCH).
func (a Arch) String() string {
	if int(a) < len(architectures) {
		return architectures[a].name
	}
	return fmt.Sprintf("arch(%d)", uint8(a))
}

// ParseArch parses the output of [Arch.String], except "unknown".
func ParseArch(s string) (Arch, error) {
	for i, f := range architectures {
		if i > 0 && f.name == s {
			return Arch(i), nil
		}
	}
	return ArchUnknown, fmt.Errorf("unknown architecture %q (known: amd64, arm64, 386, arm, s390x)", s)
}

// PointerSize is the size of an address in bytes, 4 or 8.
func (a Arch) PointerSize() int { return a.facts().pointer }

// ByteOrder is the architecture's default byte order. (ARM64 can be
// big-endian; a source of such a target says so explicitly.)
func (a Arch) ByteOrder() binary.ByteOrder {
	if order := a.facts().order; order != nil {
		return order
	}
	return binary.LittleEndian
}

// InstructionAlignment is the alignment of instructions in bytes: 4 on ARM64,
// 2 on ARM (Thumb) and s390x, 1 where instructions have no alignment.
func (a Arch) InstructionAlignment() uint64 { return a.facts().instruction }

// StackAlignment is the alignment of SP, in bytes, in every frame that rule R3
// accepts: the word size on x86, since a frame may start at any word, and 16 on
// ARM64, where the processor itself demands it.
func (a Arch) StackAlignment() uint64 { return a.facts().stack }

// PC is the register that holds the program counter.
func (a Arch) PC() Register { return a.facts().pc }

// SP is the stack pointer.
func (a Arch) SP() Register { return a.facts().sp }

// FP is the register that the ABI uses as frame pointer.
func (a Arch) FP() Register { return a.facts().fp }

// LR is the link register, [NoRegister] on x86.
func (a Arch) LR() Register { return a.facts().lr }

// CalleeSaved are the registers that every function keeps for its caller by the
// architecture's C ABI, without stack pointer and link register. It is nil where
// they are unknown. The list must not be changed.
func (a Arch) CalleeSaved() []Register { return a.facts().saved }

// Canonical reports whether an address is valid for code: on amd64 the upper
// bits are all alike (R4), on arm64 it lies in user space (R6), on others it
// has no more bits than a pointer.
func (a Arch) Canonical(addr uint64) bool {
	f := a.facts()
	return addr <= f.userEnd || f.kernel != 0 && addr >= f.kernel
}

// InKernel reports whether an address lies in the kernel's half of the address
// space, on architectures with such a half (amd64: [vsyscall] is there).
func (a Arch) InKernel(addr uint64) bool {
	f := a.facts()
	return f.kernel != 0 && addr >= f.kernel
}
