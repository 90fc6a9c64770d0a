package lines

import (
	"encoding/binary"

	"golang.org/x/arch/x86/x86asm"

	"github.com/clewdbg/clew/unwind"
)

// leadsTo returns where an indirect call or jump goes that a thread is about to execute.
func (w *walker) leadsTo(code []byte, pc uint64, th Thread) (to uint64, ok bool) {
	switch w.arch {
	case unwind.AMD64:
		to, ok = operandAMD64(code, pc, th)
	case unwind.ARM64:
		to, ok = operandARM64(code, th)
	}
	return to, ok && to != 0
}

// operandAMD64 evaluates the operand of a call or jump.
func operandAMD64(code []byte, pc uint64, th Thread) (uint64, bool) {
	in, err := x86asm.Decode(code, 64)
	if err != nil || in.Op != x86asm.CALL && in.Op != x86asm.JMP {
		return 0, false
	}
	switch arg := in.Args[0].(type) {
	case x86asm.Reg:
		return registerAMD64(arg, th)
	case x86asm.Mem:
		if arg.Segment == x86asm.FS || arg.Segment == x86asm.GS {
			return 0, false
		}
		addr := uint64(arg.Disp)
		for _, part := range []struct {
			reg   x86asm.Reg
			scale uint64
		}{{arg.Base, 1}, {arg.Index, uint64(arg.Scale)}} {
			switch part.reg {
			case 0:
			case x86asm.RIP:
				addr += pc + uint64(in.Len)
			default:
				v, ok := registerAMD64(part.reg, th)
				if !ok {
					return 0, false
				}
				addr += v * part.scale
			}
		}
		return th.Word(addr)
	}
	return 0, false
}

// numbersAMD64 are the numbers that DWARF gives the registers (System V ABI, AMD64 supplement, figure 3.36), in the processor's order.
var numbersAMD64 = [...]unwind.Register{0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15}

func registerAMD64(r x86asm.Reg, th Thread) (uint64, bool) {
	if r < x86asm.RAX || r > x86asm.R15 {
		return 0, false
	}
	return th.Register(numbersAMD64[r-x86asm.RAX])
}

// operandARM64 evaluates the register of a br or blr, with its signature taken off where it has one (Arm Architecture Reference
// Manual, C4.1.92: unconditional branch, register).
func operandARM64(code []byte, th Thread) (uint64, bool) {
	if len(code) < 4 {
		return 0, false
	}
	w := binary.LittleEndian.Uint32(code)
	if w&0xfe000000 != 0xd6000000 {
		return 0, false
	}
	v, ok := th.Register(unwind.Register(w >> 5 & 31))
	if signed := w&0x800 != 0; signed {
		const address = 1<<48 - 1
		v &= address
	}
	return v, ok
}
