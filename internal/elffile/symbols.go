package elffile

import (
	"debug/elf"
	"iter"
	"strings"
)

// maxName cuts a symbol's name, in bytes: names may overlap, each to the table's end.
const maxName = 16 << 10

// Symbols returns the symbols of a table, SHT_SYMTAB or SHT_DYNSYM, with their index. A
// table that cannot be read has none. The names share memory.
func Symbols(f *elf.File, kind elf.SectionType) iter.Seq2[int, elf.Symbol] {
	return func(yield func(int, elf.Symbol) bool) {
		table := f.SectionByType(kind)
		if table == nil || table.Flags&elf.SHF_COMPRESSED != 0 || int(table.Link) >= len(f.Sections) || f.Sections[table.Link].Flags&elf.SHF_COMPRESSED != 0 {
			return
		}
		text, err := f.Sections[table.Link].Data()
		if err != nil {
			return
		}
		names, size := string(text), elf.Sym64Size
		if f.Class == elf.ELFCLASS32 {
			size = elf.Sym32Size
		}
		chunk := make([]byte, size*(1<<12))
		for index, at := 0, uint64(0); at < table.Size; at += uint64(len(chunk)) {
			n, _ := table.ReadAt(chunk, int64(at))
			for part := chunk[:n-n%size]; len(part) > 0; part = part[size:] {
				if index > 0 && !yield(index, symbolAt(f, part, names)) { // the first is empty
					return
				}
				index++
			}
			if n < len(chunk) {
				return
			}
		}
	}
}

// symbolAt decodes one symbol.
func symbolAt(f *elf.File, raw []byte, names string) (s elf.Symbol) {
	order, at := f.ByteOrder, f.ByteOrder.Uint32(raw)
	if f.Class == elf.ELFCLASS32 { // elf.Sym32
		s.Value, s.Size = uint64(order.Uint32(raw[4:])), uint64(order.Uint32(raw[8:]))
		s.Info, s.Other, s.Section = raw[12], raw[13], elf.SectionIndex(order.Uint16(raw[14:]))
	} else { // elf.Sym64
		s.Info, s.Other, s.Section = raw[4], raw[5], elf.SectionIndex(order.Uint16(raw[6:]))
		s.Value, s.Size = order.Uint64(raw[8:]), order.Uint64(raw[16:])
	}
	if uint64(at) < uint64(len(names)) {
		name := names[at:min(uint64(at)+maxName, uint64(len(names)))]
		if end := strings.IndexByte(name, 0); end >= 0 {
			name = name[:end]
		}
		s.Name = name
	}
	return s
}
