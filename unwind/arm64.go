package unwind

import "fmt"

// Registers of arm64 that rules name.
const (
	ARM64FP Register = 29
	ARM64LR Register = 30
	ARM64SP Register = 31
	ARM64PC Register = 32
	ARM64D8 Register = 72
)

// arm64 follows AAPCS64 and AADWARF64.
var arm64 = facts{
	name:    "arm64",
	pointer: 8, instruction: 4, stack: 16,
	pc: ARM64PC, sp: ARM64SP, fp: ARM64FP, lr: ARM64LR,
	saved: []Register{19, 20, 21, 22, 23, 24, 25, 26, 27, 28, ARM64FP, ARM64D8, 73, 74, 75, 76, 77, 78, 79}, // 6.1
	// R6: code of programs lies in user space.
	userEnd: 0x000f_ffff_ffff_ffff,
	register: func(r Register) string {
		switch {
		case r < ARM64SP:
			return fmt.Sprintf("x%d", r)
		case r == ARM64SP:
			return "sp"
		case r == ARM64PC:
			return "pc"
		case r >= 64 && r <= 95:
			return fmt.Sprintf("d%d", r-64)
		}
		return ""
	},
}
