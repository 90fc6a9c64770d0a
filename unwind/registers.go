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

// NoRegister stands for a register that an architecture does not have.
const NoRegister Register = 0xffff

// numSlots bounds the registers that [Registers] can hold on any architecture.
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

// Get returns a register's value, and whether it is known.
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

// Held reports whether [Registers] can hold a register: those that rules need, no
// vector registers and no flags.
func (r Register) Held() bool { return slot(r) >= 0 }

// Inherit takes over the registers of from that the C ABI makes every function
// keep, those that are known.
func (r *Registers) Inherit(from *Registers, arch Arch) {
	kept := from.valid & arch.facts().kept
	r.valid |= kept
	for ; kept != 0; kept &= kept - 1 {
		i := bits.TrailingZeros64(kept)
		r.value[i] = from.value[i]
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

// RegisterName returns the architecture's name of a register, as snapshots and
// rules write it: rip, x29, sp, f0.
func (a Arch) RegisterName(r Register) string {
	if name := a.facts().register(r); name != "" {
		return name
	}
	return fmt.Sprintf("reg%d", r)
}

// registersByName has the registers that each architecture names, by name.
var registersByName = func() (byArch [len(architectures)]map[string]Register) {
	for a := range byArch {
		byArch[a] = make(map[string]Register, numSlots)
		for i := range numSlots {
			r := slotRegister(i)
			// "reg17" is RegisterName's name for a register that this architecture does
			// not have.
			if name := Arch(a).RegisterName(r); !strings.HasPrefix(name, "reg") {
				byArch[a][name] = r
			}
		}
	}
	byArch[ARM64]["fp"] = ARM64FP
	byArch[ARM64]["lr"] = ARM64LR
	return byArch
}()

// ParseRegister returns the register of that name, which is one that
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
