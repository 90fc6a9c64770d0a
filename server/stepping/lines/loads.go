package lines

import (
	"encoding/binary"

	"golang.org/x/arch/x86/x86asm"

	"github.com/clewdbg/clew/unwind"
)

// Loads returns the fixed addresses that code reads words from, in its order.
func Loads(arch unwind.Arch, code []byte, start uint64) (out []uint64) {
	switch arch {
	case unwind.AMD64:
		return loadsAMD64(code, start)
	case unwind.ARM64:
		return loadsARM64(code, start)
	}
	return nil
}

func loadsAMD64(code []byte, at uint64) (out []uint64) {
	for len(code) > 0 {
		in, err := x86asm.Decode(code, 64)
		if err != nil || in.Len <= 0 {
			return out
		}
		at += uint64(in.Len)
		code = code[in.Len:]
		if from, ok := in.Args[1].(x86asm.Mem); ok && in.Op == x86asm.MOV && from.Base == x86asm.RIP {
			out = append(out, at+uint64(from.Disp))
		}
	}
	return out
}

// loadsARM64 pairs adrp with ldr (Arm Architecture Reference Manual, C6.2: ADRP; LDR (immediate), unsigned offset, 64 bits).
func loadsARM64(code []byte, at uint64) (out []uint64) {
	var pages [32]uint64
	for ; len(code) >= 4; code, at = code[4:], at+4 {
		w := binary.LittleEndian.Uint32(code)
		switch rd, rn := w&31, w>>5&31; {
		case w&0x9f000000 == 0x90000000:
			offset := int64(int32((w>>5&0x7ffff<<2|w>>29&3)<<11)) >> 11
			pages[rd] = at&^0xfff + uint64(offset<<12)
		case w&0xffc00000 == 0xf9400000:
			if pages[rn] != 0 {
				out = append(out, pages[rn]+uint64(w>>10&0xfff)*8)
			}
			pages[rd] = 0
		case w&0xffc00000 == 0x91000000: // add
			if pages[rn] != 0 {
				pages[rd] = pages[rn] + uint64(w>>10&0xfff)
			}
		}
	}
	return out
}
