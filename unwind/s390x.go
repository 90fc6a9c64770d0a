package unwind

import (
	"encoding/binary"
	"fmt"
)

// Registers of s390x that rules name.
const (
	S390XR11 Register = 11
	S390XR14 Register = 14
	S390XR15 Register = 15
	S390XPC  Register = 65 // the PSW address
)

// s390x follows the zSeries ELF psABI. No list of saved registers: its only
// strategy, SFrame, does not know which of them a function changes.
var s390x = facts{
	name:    "s390x",
	pointer: 8, instruction: 2, stack: 8,
	order: binary.BigEndian,
	pc:    S390XPC, sp: S390XR15, fp: S390XR11, lr: S390XR14,
	userEnd: ^uint64(0),
	register: func(r Register) string {
		switch {
		case r < 16:
			return fmt.Sprintf("r%d", r)
		case r < 32:
			return fmt.Sprintf("f%d", s390xFloat[r-16])
		case r == S390XPC:
			return "pc"
		}
		return ""
	},
}

// s390xFloat are the floating-point registers of DWARF numbers 16..31
// (zSeries ELF psABI, DWARF register mapping).
var s390xFloat = [...]int{0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15}
