package table

import (
	"bytes"
	"encoding/binary"

	"github.com/clewdbg/clew/unwind"
)

// The modes of x86 and x86-64 (UNWIND_X86_MODE_MASK, UNWIND_X86_64_MODE_MASK).
const (
	x86Frame     = 1 // push bp; mov bp, sp
	x86Immediate = 2 // no frame pointer, a frame whose size is in the encoding
	x86Indirect  = 3 // no frame pointer, a frame whose size is in the code
	x86DWARF     = 4
)

// family holds the differences between x86 and x86-64.
type family struct {
	arch      unwind.Arch
	word      int64 // bytes
	base      unwind.Register
	stack     unwind.Register
	registers [7]unwind.Register // by their number in encodings; 0 for none
	sub       []byte             // sub $imm32, stack: what comes before imm32
}

var (
	x86_64 = family{
		arch: unwind.AMD64, word: 8, base: unwind.AMD64RBP, stack: unwind.AMD64RSP,
		registers: [7]unwind.Register{unwind.NoRegister, unwind.AMD64RBX, 12, 13, 14, 15, unwind.AMD64RBP},
		sub:       []byte{0x48, 0x81, 0xec},
	}
	x86 = family{
		arch: unwind.I386, word: 4, base: 5, stack: 4, // ebp, esp: System V ABI for i386, table 2.14
		registers: [7]unwind.Register{unwind.NoRegister, 3, 1, 2, 7, 6, 5}, // ebx ecx edx edi esi ebp
		sub:       []byte{0x81, 0xec},
	}
)

func (e Encoding) decodeX86(f *family, code Code) (Rule, error) {
	switch e.mode() {
	case x86Frame:
		return e.decodeX86Frame(f)
	case x86Immediate:
		// The size has the return address in it. Bits 13 to 15 are unused.
		return e.decodeX86Frameless(f, f.word*int64(e.bits(16, 8)))
	case x86Indirect:
		size, err := e.indirectSize(f, code)
		if err != nil {
			return Rule{}, err
		}
		return e.decodeX86Frameless(f, size)
	case x86DWARF:
		return Rule{Kind: DWARF, FDE: e.bits(0, 24)}, nil
	}
	return Rule{}, encodingError(e, "mode %d is not known", e.mode())
}

// decodeX86Frame: bits 16 to 23 are the distance from the frame pointer down to
// the lowest of five slots, in words; bits 0 to 14 are the registers in the
// slots, three bits each, the lowest slot's lowest. 0 is a slot without one.
func (e Encoding) decodeX86Frame(f *family) (Rule, error) {
	r := steps(f.arch, f.base, 2*f.word, 5)
	r.save(f.base, -2*f.word)
	seen := uint32(0)
	lowest := -2*f.word - f.word*int64(e.bits(16, 8)) // from the CFA
	for slot := int64(4); slot >= 0; slot-- {
		number := e.bits(uint(3*slot), 3)
		offset := lowest + f.word*slot
		switch {
		case number == 0:
		case number >= 6: // the frame pointer has a separate slot; 7 is invalid
			return Rule{}, encodingError(e, "slot %d has register number %d", slot, number)
		case seen>>number&1 != 0:
			return Rule{}, encodingError(e, "two slots have register number %d", number)
		case offset >= -2*f.word:
			return Rule{}, encodingError(e, "slot %d lies above the frame pointer", slot)
		default:
			seen |= 1 << number
			r.save(f.registers[number], offset)
		}
	}
	return r, nil
}

// decodeX86Frameless: the registers lie right below the return address, in an
// order that bits 0 to 9 number.
func (e Encoding) decodeX86Frameless(f *family, size int64) (Rule, error) {
	count := int(e.bits(10, 3))
	order, ok := Permutation(count, e.bits(0, 10))
	if !ok {
		return Rule{}, encodingError(e, "no order of %d registers has number %d", count, e.bits(0, 10))
	}
	if size < f.word*int64(1+count) {
		return Rule{}, encodingError(e, "a frame of %d bytes has no room for %d registers and a return address", size, count)
	}
	r := steps(f.arch, f.stack, size, count)
	for i := count - 1; i >= 0; i-- {
		r.save(f.registers[order[i]], -f.word*int64(1+count-i))
	}
	return r, nil
}

// indirectSize reads the frame's size from the instruction that makes room for
// it: bits 16 to 23 are the operand's offset in the function, bits 13 to 15 how
// many words the function pushed besides, return address included.
func (e Encoding) indirectSize(f *family, code Code) (int64, error) {
	at := e.bits(16, 8)
	before := uint32(len(f.sub))
	if at < before {
		return 0, encodingError(e, "the size of the frame is not at offset %d: no instruction has an operand there", at)
	}
	var got []byte
	if code != nil {
		got = code(at-before, len(f.sub)+4)
	}
	if len(got) < len(f.sub)+4 {
		return 0, encodingError(e, "the size of the frame is in the function's code, which is not known")
	}
	if !bytes.Equal(got[:before], f.sub) {
		return 0, encodingError(e, "there is no instruction at offset %d that makes room for the frame (% x)", at-before, got[:len(f.sub)+4])
	}
	return int64(binary.LittleEndian.Uint32(got[before:])) + f.word*int64(e.bits(13, 3)), nil
}
