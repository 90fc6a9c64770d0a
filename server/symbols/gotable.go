package symbols

import (
	"debug/elf"
	"encoding/binary"
	"iter"

	"github.com/clewdbg/clew/internal/elffile"
	"github.com/clewdbg/clew/server/symbols/gotab"
)

// goSource finds Go's function table and the data that belongs to it.
type goSource interface {
	Order() binary.ByteOrder
	// goTableBytes returns the section that holds the table; named is false where other
	// things are in it too.
	goTableBytes() (data []byte, addr uint64, named bool)
	// goText is the address of the symbol runtime.text.
	goText() (uint64, bool)
	// goData yields the data sections, with relocations applied as if the file were
	// loaded at its link-time address.
	goData() iter.Seq[[]byte]
	// goContents is a section's contents from addr on.
	goContents(addr uint64) []byte
	// goMoved is the bias that a loader has added to the addresses in the data.
	goMoved() uint64
}

// readGoTable finds and reads Go's function table; nil if there is none.
func readGoTable(f goSource) *gotab.Table {
	data, addr, named := f.goTableBytes()
	table, offset := gotab.Find(data, 0, f.Order())
	for n := 0; table != nil; n++ {
		if out := placeTable(f, table, addr+uint64(offset), named, data[offset:]); out != nil {
			return out
		}
		if n == maxTables {
			break
		}
		table, offset = gotab.Find(data, offset+1, f.Order())
	}
	return nil
}

// maxTables bounds how many places that look like a table are tried.
const maxTables = 4

// goTableBytes implements [goSource]. Go 1.26 has .gopclntab
// always; before, a position-independent program has .data.rel.ro.gopclntab,
// which GNU ld puts into .data.rel.ro (a cgo program of -buildmode=pie), where
// the table is found by its magic number; named is false then.
func (f *elfFile) goTableBytes() (data []byte, addr uint64, named bool) {
	if f.inMemory() {
		return f.goTableLoaded()
	}
	const shared = ".data.rel.ro"
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab", shared} {
		if s := f.File.Section(name); s != nil && s.Type == elf.SHT_PROGBITS {
			if data, err := s.Data(); err == nil {
				return data, s.Addr, name != shared
			}
		}
	}
	return nil, 0, false
}

// placeTable finds out where the text of a table starts (see package gotab) that
// lies at addr, where its section goes on with data. The moduledata comes first, since it proves that the bytes are a
// table; without it a table counts only in a section of its own. placeTable returns
// nil if the start cannot be known: no name is better than a wrong one.
func placeTable(f goSource, table *gotab.Table, addr uint64, named bool, data []byte) *gotab.Table {
	module, haveModule := findModule(f, table, addr)
	text := module.Text
	if !haveModule {
		if !named {
			return nil
		}
		var ok bool
		if text, ok = f.goText(); !ok {
			text = table.HeaderText()
		}
	}
	if text == 0 {
		return nil
	}
	table, err := table.WithTextStart(text)
	if err != nil {
		return nil
	}
	if haveModule && module.GoFunc != 0 {
		var funcs []byte
		if at := module.GoFunc - addr; at < uint64(len(data)) { // since Go 1.26 in the same section, which is not read again
			funcs = data[at:]
		} else {
			funcs = f.goContents(module.GoFunc)
		}
		if funcs != nil {
			table = table.WithFuncData(funcs)
		}
	}
	return table
}

// goText implements [goSource].
func (f *elfFile) goText() (uint64, bool) {
	for _, s := range elffile.Symbols(f.File, elf.SHT_SYMTAB) {
		if s.Name == "runtime.text" {
			return s.Value, true
		}
	}
	return 0, false
}

// findModule finds the table's moduledata in the data sections.
func findModule(f goSource, table *gotab.Table, addr uint64) (gotab.Module, bool) {
	moved := f.goMoved()
	for data := range f.goData() {
		if m, _, ok := table.FindModule(data, addr+moved); ok {
			m.Text -= moved
			if m.GoFunc != 0 {
				m.GoFunc -= moved
			}
			return m, true
		}
	}
	return gotab.Module{}, false
}

// goData implements [goSource].
func (f *elfFile) goData() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for data := range f.segments(elf.PF_W) { // of an image in memory
			if !yield(data) {
				return
			}
		}
		for _, s := range f.Sections {
			if s.Type != elf.SHT_PROGBITS || s.Flags&elf.SHF_WRITE == 0 || s.Flags&elf.SHF_TLS != 0 {
				continue
			}
			data, err := s.Data()
			if err != nil {
				continue
			}
			relocate(f.File, s, data)
			if !yield(data) {
				return
			}
		}
	}
}

// relocate applies the relative relocations that a position-independent file
// has for a section, as if it were loaded at its link-time address.
func relocate(f *elf.File, s *elf.Section, data []byte) {
	if f.Type != elf.ET_DYN || f.Class != elf.ELFCLASS64 {
		return
	}
	// Go's linker calls the section .rela, the others .rela.dyn.
	for _, rela := range f.Sections {
		if rela.Type != elf.SHT_RELA || rela.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		if entries, err := rela.Data(); err == nil {
			applyRelative(f, entries, s.Addr, data)
		}
	}
}

// applyRelative writes the addends of relative relocations to data, which lies
// at addr.
func applyRelative(f *elf.File, entries []byte, addr uint64, data []byte) {
	const entrySize = 24 // Elf64_Rela: offset, info, addend
	for ; len(entries) >= entrySize; entries = entries[entrySize:] {
		offset := f.ByteOrder.Uint64(entries)
		kind := uint32(f.ByteOrder.Uint64(entries[8:]))
		relative := f.Machine == elf.EM_X86_64 && kind == uint32(elf.R_X86_64_RELATIVE) ||
			f.Machine == elf.EM_AARCH64 && kind == uint32(elf.R_AARCH64_RELATIVE) ||
			f.Machine == elf.EM_S390 && kind == uint32(elf.R_390_RELATIVE)
		if at := offset - addr; relative && offset >= addr && at < uint64(len(data)) && uint64(len(data))-at >= 8 {
			f.ByteOrder.PutUint64(data[at:], f.ByteOrder.Uint64(entries[16:]))
		}
	}
}

// goContents implements [goSource].
func (f *elfFile) goContents(addr uint64) []byte {
	for data, at := range f.segments(0) {
		if addr >= at && addr-at < uint64(len(data)) {
			return data[addr-at:]
		}
	}
	for _, s := range f.Sections {
		if s.Type == elf.SHT_PROGBITS && s.Flags&elf.SHF_ALLOC != 0 && addr >= s.Addr && addr-s.Addr < s.Size {
			if data, err := s.Data(); err == nil && addr-s.Addr < uint64(len(data)) {
				return data[addr-s.Addr:]
			}
		}
	}
	return nil
}
