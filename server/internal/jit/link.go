package jit

import (
	"bytes"
	"debug/elf"
	"io"

	"github.com/clewdbg/clew/internal/elffile"
)

// linker does to a relocatable file what its loader has done in memory, and what a
// debugger does to the sections that are not loaded.
type linker struct {
	*elf.File
	raw     []byte
	address []uint64 // of symbols
	defined []bool   // by symbol: it has an address
}

// contents returns a section's part of the file, nil if it has none.
func (l *linker) contents(s *elf.Section) []byte {
	if s.Type == elf.SHT_NOBITS || s.Offset > uint64(len(l.raw)) || s.FileSize > uint64(len(l.raw))-s.Offset {
		return nil
	}
	return l.raw[s.Offset:][:s.FileSize:s.FileSize]
}

// loaded says whether a section has an address.
func loaded(s *elf.Section) bool { return s.Addr != 0 && s.Flags&elf.SHF_ALLOC != 0 }

// link makes the file one that has been linked to the addresses of its sections.
func (l *linker) link(memory io.ReaderAt) {
	l.moveSymbols()
	final := make([]bool, len(l.Sections))
	for i, s := range l.Sections {
		if data := l.contents(s); len(data) > 0 && loaded(s) {
			// Unreadable: the file's own contents count. Those of LuaJIT are final.
			now := make([]byte, len(data))
			if final[i] = readAt(memory, s.Addr, now) == nil; final[i] {
				copy(data, now)
			}
		}
	}
	left := len(l.raw) // tables of a file that is no lie do not overlap
	for _, s := range l.Sections {
		if s.Type != elf.SHT_RELA || l.Class != elf.ELFCLASS64 || s.Info >= uint32(len(l.Sections)) || final[s.Info] {
			continue
		}
		entries := l.contents(s)
		if left -= len(entries); left < 0 {
			break
		}
		if target := l.Sections[s.Info]; target.Flags&elf.SHF_COMPRESSED == 0 {
			l.relocate(entries, l.contents(target), target.Addr)
		}
	}
	const typeOffset = 16 // of the header's e_type
	l.ByteOrder.PutUint16(l.raw[typeOffset:], uint16(elf.ET_EXEC))
}

// moveSymbols gives symbols their addresses: in a relocatable file a value counts from
// its section's start.
func (l *linker) moveSymbols() {
	s := l.SectionByType(elf.SHT_SYMTAB)
	if s == nil {
		return
	}
	entry, value, section := 24, 8, 6 // sizes and offsets in bytes
	if l.Class == elf.ELFCLASS32 {
		entry, value, section = 16, 4, 14
	}
	for table := l.contents(s); len(table) >= entry && len(l.address) < maxSymbols; table = table[entry:] {
		index := l.ByteOrder.Uint16(table[section:])
		addr := l.word(table[value:])
		known := elf.SectionIndex(index) == elf.SHN_ABS
		if index != 0 && int(index) < len(l.Sections) {
			in := l.Sections[index]
			addr += in.Addr
			// What is not loaded (.debug_str) counts from its start.
			known = loaded(in) || in.Flags&elf.SHF_ALLOC == 0
			l.putWord(table[value:], addr)
		}
		l.address, l.defined = append(l.address, addr), append(l.defined, known)
	}
}

// word reads an address.
func (l *linker) word(b []byte) uint64 {
	if l.Class == elf.ELFCLASS32 {
		return uint64(l.ByteOrder.Uint32(b))
	}
	return l.ByteOrder.Uint64(b)
}

func (l *linker) putWord(b []byte, v uint64) {
	if l.Class == elf.ELFCLASS32 {
		l.ByteOrder.PutUint32(b, uint32(v))
		return
	}
	l.ByteOrder.PutUint64(b, v)
}

// relocate applies relocations to a section at addr. A place whose symbol has no
// address becomes 0, which names no code.
func (l *linker) relocate(relocations, data []byte, addr uint64) {
	const size = 24
	for ; len(relocations) >= size; relocations = relocations[size:] {
		at, info := l.ByteOrder.Uint64(relocations), l.ByteOrder.Uint64(relocations[8:])
		symbol, k := info>>32, kinds[l.Machine][uint32(info)]
		if k.width == 0 || at > uint64(len(data)) || uint64(len(data))-at < k.width || symbol >= uint64(len(l.address)) {
			continue
		}
		value := uint64(0)
		if l.defined[symbol] {
			value = l.address[symbol] + l.ByteOrder.Uint64(relocations[16:])
			if k.relative {
				value -= addr + at
			}
		}
		if k.width == 8 {
			l.ByteOrder.PutUint64(data[at:], value)
		} else {
			l.ByteOrder.PutUint32(data[at:], uint32(value))
		}
	}
}

// kind is a kind of relocation: how many bytes it sets, and whether they count from their
// own place.
type kind struct {
	width    uint64
	relative bool
}

// kinds are those that DWARF and frames have.
var kinds = map[elf.Machine]map[uint32]kind{
	elf.EM_X86_64: {
		uint32(elf.R_X86_64_64): {8, false}, uint32(elf.R_X86_64_32): {4, false}, uint32(elf.R_X86_64_32S): {4, false},
		uint32(elf.R_X86_64_PC32): {4, true}, uint32(elf.R_X86_64_PC64): {8, true},
	},
	elf.EM_AARCH64: {
		uint32(elf.R_AARCH64_ABS64): {8, false}, uint32(elf.R_AARCH64_ABS32): {4, false},
		uint32(elf.R_AARCH64_PREL64): {8, true}, uint32(elf.R_AARCH64_PREL32): {4, true},
	},
}

// newLinker reads the headers of a file, which it will change.
func newLinker(raw []byte) (*linker, error) {
	f, _, err := elffile.New(bytes.NewReader(raw), int64(len(raw)), int64(len(raw))) // who reads the linked file names what is left out
	if err != nil {
		return nil, err
	}
	return &linker{File: f, raw: raw}, nil
}
