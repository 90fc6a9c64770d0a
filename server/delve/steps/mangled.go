package steps

import "encoding/binary"

// mangledWith returns the number that arm64 code, which begins at pc, combines its return address with: what a chain of loads from a fixed address leads to.
// glibc's setjmp does so (sysdeps/aarch64/setjmp.S, PTR_MANGLE). The number is in a private variable of the dynamic loader's, and
// was made of random words that Go's runtime has erased since.
func mangledWith(code []byte, pc uint64, word func(addr uint64) (uint64, bool)) (uint64, bool) {
	const link, zero = 30, 31
	var values [32]uint64
	var known [32]bool
	for ; len(code) >= 4; code, pc = code[4:], pc+4 {
		w := binary.LittleEndian.Uint32(code)
		to, from, other := w&31, w>>5&31, w>>16&31
		switch {
		case w&0x9f000000 == 0x90000000: // adrp
			pages := int64(w>>5&0x7ffff<<2|w>>29&3) << 43 >> 43
			values[to], known[to] = pc&^0xfff+uint64(pages)<<12, true
		case w&0xffc00000 == 0x91000000: // add, a number
			values[to], known[to] = values[from]+uint64(w>>10&0xfff), known[from]
		case w&0xffc00000 == 0xf9400000: // ldr, of 8 bytes
			v, ok := uint64(0), false
			if known[from] {
				v, ok = word(values[from] + uint64(w>>10&0xfff)*8)
			}
			values[to], known[to] = v, ok
		case w&0xffe0fc00 == 0xca000000 && from == link: // eor
			return values[other], known[other]
		case w&0xffe0fc00 == 0xca000000 && other == link:
			return values[from], known[from]
		case w&0x7c000000 == 0x14000000, w&0xfe000000 == 0xd6000000: // b, bl; br, ret
			return 0, false
		}
		known[zero] = false
	}
	return 0, false
}
