package symbols

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
)

// pltEntriesARM64 lists the entries of one table (ELF for the Arm 64-bit architecture,
// "Procedure linkage table"):
//
//	stp x16, x30, [sp, #-16]!; ...	the first entry of .plt, of 32 bytes
//	[bti c;] adrp x16, page; ldr x17, [x16, #slot]; add x16, x16, #slot; br x17
func pltEntriesARM64(s *elf.Section, code []byte, slots map[uint64]string) (out []function) {
	const (
		landing   = 0xd503245f // bti c
		push      = 0xa9bf7bf0
		firstSize = 32
		size      = 16
	)
	word := func(at int) uint32 { return binary.LittleEndian.Uint32(code[at:]) }
	add := func(from, to int, name string) {
		out = append(out, function{start: s.Addr + uint64(from), end: s.Addr + uint64(to), name: name, sized: true})
	}
	for at := 0; at+size <= len(code); {
		from := at
		if word(at) == landing {
			at += 4
		}
		switch {
		case at+size > len(code):
			return out
		case word(at) == push:
			at = from + firstSize
			add(from, min(at, len(code)), ".plt")
		case word(at)&0x9f00001f == 0x90000010 && word(at+4)&0xffc003ff == 0xf9400211: // adrp x16; ldr x17, [x16]
			page := int64(word(at)>>5&0x7ffff)<<14 | int64(word(at)>>29&3)<<12
			slot := (s.Addr+uint64(at))&^0xfff + uint64(page<<31>>31) + uint64(word(at+4)>>10&0xfff)*8
			at += size
			add(from, at, cmp.Or(slots[slot], "?")+"@plt")
		default:
			at += 4 // padding
		}
	}
	return out
}
