package symbols

import (
	"debug/elf"
	"encoding/binary"
	"iter"

	"github.com/clewdbg/clew/internal/elffile"
)

// relocation is what the loader fills in at a place.
type relocation struct {
	at, addend uint64
	symbol     uint32 // its number, from 1 on; 0 for none
	means      meaning
}

// meaning is what a relocation fills in.
type meaning uint8

const (
	fillsOther  meaning = iota
	fillsSlot           // a function's address, for calls
	fillsSymbol         // a symbol's address, and the addend
	fillsBase           // an address in the image itself
	fillsChosen         // what the function at the addend returns
)

var meanings = map[elf.Machine]map[uint32]meaning{
	elf.EM_X86_64: {
		uint32(elf.R_X86_64_JMP_SLOT): fillsSlot, uint32(elf.R_X86_64_GLOB_DAT): fillsSlot, uint32(elf.R_X86_64_64): fillsSymbol,
		uint32(elf.R_X86_64_RELATIVE): fillsBase, uint32(elf.R_X86_64_IRELATIVE): fillsChosen,
	},
	elf.EM_AARCH64: {
		uint32(elf.R_AARCH64_JUMP_SLOT): fillsSlot, uint32(elf.R_AARCH64_GLOB_DAT): fillsSlot, uint32(elf.R_AARCH64_ABS64): fillsSymbol,
		uint32(elf.R_AARCH64_RELATIVE): fillsBase, uint32(elf.R_AARCH64_IRELATIVE): fillsChosen,
	},
}

// relocations yields what the loader fills in.
func relocations(f *elf.File) iter.Seq[relocation] {
	return func(yield func(relocation) bool) {
		left := uint64(maxPLT)
		for _, s := range f.Sections {
			if s.Type != elf.SHT_RELA || s.Flags&elf.SHF_ALLOC == 0 || s.Size > left || f.Class != elf.ELFCLASS64 {
				continue
			}
			left -= s.Size
			data, err := s.Data()
			if err != nil {
				continue
			}
			const size = 24 // of an Elf64_Rela
			for ; len(data) >= size; data = data[size:] {
				info := binary.LittleEndian.Uint64(data[8:])
				r := relocation{at: binary.LittleEndian.Uint64(data), addend: binary.LittleEndian.Uint64(data[16:]), symbol: elf.R_SYM64(info)}
				r.means = meanings[f.Machine][elf.R_TYPE64(info)]
				if r.means != fillsOther && !yield(r) {
					return
				}
			}
		}
	}
}

// ownSymbols are the addresses of dynamic symbols, 0 for those of other images. (Another
// image's function of that name could take its place; it would come back as this one does.)
func ownSymbols(f *elf.File) (out []uint64) {
	for _, s := range elffile.Symbols(f, elf.SHT_DYNSYM) {
		value := s.Value
		if s.Section == elf.SHN_UNDEF {
			value = 0
		}
		out = append(out, value)
	}
	return out
}
