package values

import (
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"github.com/clewdbg/clew/unwind"
)

// maxStraight bounds the code that is looked at for what it leaves unchanged, in bytes.
const maxStraight = 256

// kept says whether the function that a physical frame has called has left a register as it was, though functions need not keep it: the innermost one,
// whose code up to where it stands has no branches, and writes other registers only.
//
// Situation: a caller's values are in registers that the function need not keep. Example: a function that stops by int3 or by a write through a bad
// pointer at its beginning; LLVM's lists and those of gcc with -fipa-ra go on behind such calls. Tests: TestValues, TestSavedRegisters (integration/dap).
func (s *Stack) kept(row int, reg uint64) bool {
	callee := s.callee(row)
	if s.Arch != unwind.AMD64 || callee < 0 || s.callee(callee) >= 0 || s.frames[callee].TailCall || s.frames[callee].PC.Kind() == unwind.KindReturn {
		return false
	}
	for i := callee; i < row; i++ {
		if s.frames[i].TailCall {
			return false // another function was there before
		}
	}
	if s.straight == nil {
		written := s.written(callee)
		s.straight = &written
	}
	return s.straight.known && !slices.Contains(s.straight.registers, reg)
}

// written are the registers, by DWARF's numbers, that code has changed.
type written struct {
	known     bool
	registers []uint64
}

// written looks at the code of a function up to where its frame stands.
func (s *Stack) written(row int) (out written) {
	pc := s.frames[row].PC
	fn, ok := s.Code.Function(pc.Lookup(s.Arch))
	if !ok || !fn.Exact || pc.Raw() < fn.Start || pc.Raw()-fn.Start > maxStraight {
		return out
	}
	code := make([]byte, pc.Raw()-fn.Start)
	if s.Memory.ReadMemory(fn.Start, code) != nil {
		return out
	}
	for len(code) > 0 {
		if len(code) >= 4 && code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e && code[3] == 0xfa { // endbr64
			code = code[4:]
			continue
		}
		in, err := x86asm.Decode(code, 64)
		if err != nil || in.Len > len(code) {
			return out
		}
		code = code[in.Len:]
		switch in.Op {
		case x86asm.NOP, x86asm.INT, x86asm.CMP, x86asm.TEST, x86asm.PUSH:
			continue
		case x86asm.MOV, x86asm.LEA, x86asm.ADD, x86asm.SUB, x86asm.XOR, x86asm.AND, x86asm.OR, x86asm.POP, x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD,
			x86asm.MOVSS, x86asm.MOVSD_XMM, x86asm.MOVAPS, x86asm.MOVUPS, x86asm.MOVDQA, x86asm.MOVDQU:
		default:
			return written{}
		}
		switch to := in.Args[0].(type) {
		case x86asm.Mem:
		case x86asm.Reg:
			n, ok := dwarfNumber(to)
			if !ok {
				return written{}
			}
			out.registers = append(out.registers, n)
		default:
			return written{}
		}
	}
	out.known = true
	return out
}

// numbers are DWARF's of the registers, in the order in which instructions number them (System V ABI for AMD64, figure 3.36).
var numbers = [16]uint64{0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15}

// dwarfNumber is DWARF's number of a register that an instruction writes, or a part of it.
func dwarfNumber(r x86asm.Reg) (uint64, bool) {
	switch {
	case r >= x86asm.AL && r <= x86asm.BL:
		return numbers[r-x86asm.AL], true
	case r >= x86asm.AH && r <= x86asm.BH:
		return numbers[r-x86asm.AH], true
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return numbers[r-x86asm.SPB+4], true
	case r >= x86asm.AX && r <= x86asm.R15W:
		return numbers[r-x86asm.AX], true
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return numbers[r-x86asm.EAX], true
	case r >= x86asm.RAX && r <= x86asm.R15:
		return numbers[r-x86asm.RAX], true
	case r >= x86asm.X0 && r <= x86asm.X15:
		return 17 + uint64(r-x86asm.X0), true
	}
	return 0, false
}
