package unwind

import "fmt"

// Registers of arm that have a role.
const (
	armFP Register = 11
	armSP Register = 13
	armLR Register = 14
	armPC Register = 15
)

// arm is supported by the caller-address rules only: no strategy supports it.
var arm = facts{
	name:    "arm",
	pointer: 4, instruction: 2, stack: 4, // Thumb
	pc: armPC, sp: armSP, fp: armFP, lr: armLR,
	userEnd: 0xffff_ffff,
	register: func(r Register) string {
		switch {
		case r < armSP:
			return fmt.Sprintf("r%d", r)
		case r <= armPC:
			return [...]string{"sp", "lr", "pc"}[r-armSP]
		}
		return ""
	},
}
