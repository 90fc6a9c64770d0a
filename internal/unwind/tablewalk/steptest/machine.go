package steptest

import (
	"encoding/binary"

	"github.com/clewdbg/clew/internal/singlestep"
	"github.com/clewdbg/clew/unwind"
)

// Kind is an instruction's effect on the shadow stack.
type Kind int

// The kinds of instructions.
const (
	Other Kind = iota
	Call
	Return
	MaybeReturn // where a condition holds
)

// Machine holds the test's own knowledge of an architecture.
type Machine struct {
	Arch  unwind.Arch
	Order binary.ByteOrder
	Saved []unwind.Register // are compared
	Kind  func(code []byte) Kind
	// Entered returns CFA and return address at a function's first instruction.
	Entered func(word func(addr uint64) uint64, regs *singlestep.Registers) (cfa, ra uint64)
	RedZone uint64 // below SP
	// Pushed is the number of bytes of a call's return address below the CFA.
	Pushed uint64
	// Above is the distance of a CFA above the stack pointer after the return.
	Above uint64
}

// AMD64 compares all callee-saved registers.
func AMD64() Machine {
	return Machine{
		Arch: unwind.AMD64, Order: binary.LittleEndian, RedZone: 128, Pushed: 8,
		Saved: []unwind.Register{3, 6, 12, 13, 14, 15},
		Kind:  kindAMD64,
		Entered: func(word func(uint64) uint64, regs *singlestep.Registers) (cfa, ra uint64) {
			return regs[unwind.AMD64RSP] + 8, word(regs[unwind.AMD64RSP])
		},
	}
}

func kindAMD64(code []byte) Kind {
	for i := 0; i < len(code)-1; i++ {
		switch c := code[i]; {
		case c == 0xf2 || c == 0xf3 || c == 0x3e || c == 0x2e || c == 0x66 || c&0xf0 == 0x40: // prefixes
			continue
		case c == 0xe8 || c == 0xff && code[i+1]>>3&7 == 2:
			return Call
		case c == 0xc3 || c == 0xc2:
			return Return
		}
		break
	}
	return Other
}

// ARM64 compares x19 to x29. Instructions are little-endian whatever data is.
func ARM64(order binary.ByteOrder) Machine {
	m := Machine{
		Arch: unwind.ARM64, Order: order,
		Kind: func(code []byte) Kind {
			switch w := binary.LittleEndian.Uint32(code); {
			case w>>26 == 0x25, w&0xffff_fc1f == 0xd63f_0000, w&0xfeff_f800 == 0xd63f_0800: // bl, blr, blraa and its like
				return Call
			case w&0xffff_fc1f == 0xd65f_0000, w == 0xd65f_0bff, w == 0xd65f_0fff: // ret, retaa, retab
				return Return
			}
			return Other
		},
		Entered: func(_ func(uint64) uint64, regs *singlestep.Registers) (cfa, ra uint64) {
			return regs[unwind.ARM64SP], regs[unwind.ARM64LR]
		},
	}
	for r := unwind.Register(19); r <= unwind.ARM64FP; r++ {
		m.Saved = append(m.Saved, r)
	}
	return m
}

// S390X compares r6 to r13.
func S390X() Machine {
	const area = 160 // where callees save registers, between SP and CFA
	return Machine{
		Arch: unwind.S390X, Order: binary.BigEndian, Above: area,
		Saved: []unwind.Register{6, 7, 8, 9, 10, 11, 12, 13},
		Kind: func(code []byte) Kind {
			switch op, r := code[0], code[1]>>4; {
			case op == 0xc0 && code[1]&15 == 5 && r == 14, // brasl %r14
				op == 0xa7 && code[1]&15 == 5 && r == 14, // bras %r14
				op == 0x0d && r == 14 && code[1]&15 != 0: // basr %r14
				return Call
			case op == 0x07 && code[1] == 0xfe: // br %r14
				return Return
			case op == 0x07 && code[1]&15 == 14 && code[1] != 14: // bcr MASK,%r14
				return MaybeReturn
			}
			return Other
		},
		Entered: func(_ func(uint64) uint64, regs *singlestep.Registers) (cfa, ra uint64) {
			return regs[unwind.S390XR15] + area, regs[unwind.S390XR14]
		},
	}
}
