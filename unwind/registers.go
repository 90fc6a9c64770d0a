package unwind

import (
	"fmt"
	"math/bits"
	"strings"
)

// Register is a register by its DWARF number on its architecture: amd64 0..16
// (System V psABI, figure 3.36), arm64 0..32 and d8..d15 as 72..79 (AADWARF64),
// 386 0..8, s390x 0..31 and the PSW address as 65.
type Register uint16

// Registers that rules name. PC, SP, FP and LR by architecture are methods of
// [Arch].
const (
	AMD64RBX Register = 3
	AMD64RBP Register = 6
	AMD64RSP Register = 7
	AMD64R12 Register = 12
	AMD64RIP Register = 16

	ARM64FP Register = 29
	ARM64LR Register = 30
	ARM64SP Register = 31
	ARM64PC Register = 32
	ARM64D8 Register = 72

	I386ESP Register = 4
	I386EBP Register = 5
	I386EIP Register = 8

	S390XR11 Register = 11
	S390XR14 Register = 14
	S390XR15 Register = 15
	S390XPC  Register = 65
)

// NoRegister stands for a register that an architecture does not have.
const NoRegister Register = 0xffff

// PC is the register that holds the program counter.
func (a Arch) PC() Register {
	return a.role(AMD64RIP, ARM64PC, I386EIP, 15, S390XPC)
}

// SP is the stack pointer.
func (a Arch) SP() Register {
	return a.role(AMD64RSP, ARM64SP, I386ESP, 13, S390XR15)
}

// FP is the register that the ABI uses as frame pointer.
func (a Arch) FP() Register {
	return a.role(AMD64RBP, ARM64FP, I386EBP, 11, S390XR11)
}

// LR is the link register, [NoRegister] on x86.
func (a Arch) LR() Register {
	return a.role(NoRegister, ARM64LR, NoRegister, 14, S390XR14)
}

func (a Arch) role(amd64, arm64, i386, arm, s390x Register) Register {
	switch a {
	case AMD64:
		return amd64
	case ARM64:
		return arm64
	case I386:
		return i386
	case ARM:
		return arm
	case S390X:
		return s390x
	}
	return NoRegister
}

// numSlots bounds what [Registers] can hold on any architecture.
const numSlots = 42

// slot maps a DWARF number to a dense index; -1 for registers not kept.
func slot(r Register) int {
	switch {
	case r <= 32:
		return int(r)
	case r >= 72 && r <= 79: // arm64 d8..d15, callee-saved
		return 33 + int(r-72)
	case r == S390XPC:
		return 41
	}
	return -1
}

func slotRegister(i int) Register {
	switch {
	case i <= 32:
		return Register(i)
	case i == 41:
		return S390XPC
	}
	return Register(72 + i - 33)
}

// Registers is a register file with validity: a register that is not known is
// absent, never zero. It is a value; copies are independent. The zero value
// holds nothing.
type Registers struct {
	valid uint64
	value [numSlots]uint64
}

// Get gives a register's value, and whether it is known.
func (r *Registers) Get(reg Register) (uint64, bool) {
	s := slot(reg)
	if s < 0 || r.valid&(1<<s) == 0 {
		return 0, false
	}
	return r.value[s], true
}

// Set makes a register known. Registers that no architecture here keeps (for
// example vector registers) are ignored.
func (r *Registers) Set(reg Register, v uint64) {
	if s := slot(reg); s >= 0 {
		r.valid |= 1 << s
		r.value[s] = v
	}
}

// Forget makes a register unknown.
func (r *Registers) Forget(reg Register) {
	if s := slot(reg); s >= 0 {
		r.valid &^= 1 << s
		r.value[s] = 0
	}
}

// Keep makes every register unknown that keep refuses.
func (r *Registers) Keep(keep func(Register) bool) {
	for reg := range r.All() {
		if !keep(reg) {
			r.Forget(reg)
		}
	}
}

// Len is the number of known registers.
func (r *Registers) Len() int { return bits.OnesCount64(r.valid) }

// All yields the known registers by ascending slot.
func (r *Registers) All() func(yield func(Register, uint64) bool) {
	return func(yield func(Register, uint64) bool) {
		for m := r.valid; m != 0; m &= m - 1 {
			s := bits.TrailingZeros64(m)
			if !yield(slotRegister(s), r.value[s]) {
				return
			}
		}
	}
}

// PC, SP, FP are the known values by role; ok is false where unknown.
func (r *Registers) PC(a Arch) (uint64, bool) { return r.Get(a.PC()) }

// SP is the stack pointer's value.
func (r *Registers) SP(a Arch) (uint64, bool) { return r.Get(a.SP()) }

// FP is the frame pointer's value.
func (r *Registers) FP(a Arch) (uint64, bool) { return r.Get(a.FP()) }

var amd64Names = [...]string{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip"}

var i386Names = [...]string{"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "eip"}

// s390xFloat gives the floating-point register of DWARF numbers 16..31
// (zSeries ELF psABI, DWARF register mapping).
var s390xFloat = [...]int{0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15}

// RegisterName gives the architecture's name of a register, as snapshots and
// rules write it: rip, x29, sp, f0.
func (a Arch) RegisterName(r Register) string {
	switch a {
	case AMD64:
		if int(r) < len(amd64Names) {
			return amd64Names[r]
		}
	case I386:
		if int(r) < len(i386Names) {
			return i386Names[r]
		}
	case ARM64:
		switch {
		case r < 31:
			return fmt.Sprintf("x%d", r)
		case r == ARM64SP:
			return "sp"
		case r == ARM64PC:
			return "pc"
		case r >= 64 && r <= 95:
			return fmt.Sprintf("d%d", r-64)
		}
	case ARM:
		switch r {
		case 13:
			return "sp"
		case 14:
			return "lr"
		case 15:
			return "pc"
		}
		if r < 13 {
			return fmt.Sprintf("r%d", r)
		}
	case S390X:
		switch {
		case r < 16:
			return fmt.Sprintf("r%d", r)
		case r < 32:
			return fmt.Sprintf("f%d", s390xFloat[r-16])
		case r == S390XPC:
			return "pc"
		}
	}
	return fmt.Sprintf("reg%d", r)
}

// registersByName has the registers that each architecture names, by name.
var registersByName = func() (byArch [len(archNames)]map[string]Register) {
	for a := range byArch {
		byArch[a] = make(map[string]Register, numSlots)
		for i := range numSlots {
			r := slotRegister(i)
			// "reg17" is what RegisterName calls a register that this
			// architecture does not have.
			if name := Arch(a).RegisterName(r); !strings.HasPrefix(name, "reg") {
				byArch[a][name] = r
			}
		}
	}
	byArch[ARM64]["fp"] = ARM64FP
	byArch[ARM64]["lr"] = ARM64LR
	return byArch
}()

// ParseRegister gives the register of that name, which is one that
// [Registers] keeps and the architecture has; fp and lr are aliases on ARM64.
func (a Arch) ParseRegister(name string) (Register, bool) {
	if int(a) >= len(registersByName) {
		return NoRegister, false
	}
	r, ok := registersByName[a][name]
	if !ok {
		return NoRegister, false
	}
	return r, true
}
