package symbols

import (
	"debug/elf"

	"github.com/clewdbg/clew/server/gotab"
)

// readGoTable finds and reads Go's function table; nil if there is none.
func readGoTable(f *elf.File) *gotab.Table {
	var section *elf.Section
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab"} {
		if section = f.Section(name); section != nil {
			break
		}
	}
	if section == nil || section.Type == elf.SHT_NOBITS {
		return nil
	}
	data, err := section.Data()
	if err != nil {
		return nil
	}
	table, err := gotab.Parse(data, 0, f.ByteOrder)
	if err != nil {
		return nil
	}
	module, haveModule := findModule(f, table, section.Addr)
	text, ok := runtimeText(f)
	switch {
	case ok:
	case haveModule:
		text = module.Text
	default:
		text = table.HeaderText()
	}
	if text == 0 {
		return nil // where the functions are is unknown: no name is better than a wrong one
	}
	if table, err = table.WithTextStart(text); err != nil {
		return nil
	}
	if haveModule && module.GoFunc != 0 {
		if funcs := contents(f, module.GoFunc); funcs != nil {
			table = table.WithFuncData(funcs)
		}
	}
	return table
}

// runtimeText is the address of the symbol runtime.text.
func runtimeText(f *elf.File) (uint64, bool) {
	symbols, err := f.Symbols()
	if err != nil {
		return 0, false
	}
	for _, s := range symbols {
		if s.Name == "runtime.text" {
			return s.Value, true
		}
	}
	return 0, false
}

// findModule finds the table's moduledata in the data sections.
func findModule(f *elf.File, table *gotab.Table, addr uint64) (gotab.Module, bool) {
	for _, s := range f.Sections {
		if s.Type != elf.SHT_PROGBITS || s.Flags&elf.SHF_WRITE == 0 || s.Flags&elf.SHF_TLS != 0 {
			continue
		}
		data, err := s.Data()
		if err != nil {
			continue
		}
		relocate(f, s, data)
		if m, _, ok := table.FindModule(data, addr); ok {
			return m, true
		}
	}
	return gotab.Module{}, false
}

// relocate applies the relative relocations that a position-independent file
// has for a section, as if it were loaded at its link-time address.
func relocate(f *elf.File, s *elf.Section, data []byte) {
	if f.Type != elf.ET_DYN || f.Class != elf.ELFCLASS64 {
		return
	}
	rela := f.Section(".rela.dyn")
	if rela == nil {
		return
	}
	entries, err := rela.Data()
	if err != nil {
		return
	}
	const entrySize = 24
	for ; len(entries) >= entrySize; entries = entries[entrySize:] {
		offset := f.ByteOrder.Uint64(entries)
		kind := uint32(f.ByteOrder.Uint64(entries[8:]))
		relative := f.Machine == elf.EM_X86_64 && kind == uint32(elf.R_X86_64_RELATIVE) ||
			f.Machine == elf.EM_AARCH64 && kind == uint32(elf.R_AARCH64_RELATIVE) ||
			f.Machine == elf.EM_S390 && kind == uint32(elf.R_390_RELATIVE)
		if !relative || offset < s.Addr || offset-s.Addr+8 > uint64(len(data)) {
			continue
		}
		f.ByteOrder.PutUint64(data[offset-s.Addr:], f.ByteOrder.Uint64(entries[16:]))
	}
}

// contents is the section's contents from addr on.
func contents(f *elf.File, addr uint64) []byte {
	for _, s := range f.Sections {
		if s.Type == elf.SHT_PROGBITS && s.Flags&elf.SHF_ALLOC != 0 && addr >= s.Addr && addr-s.Addr < s.Size {
			if data, err := s.Data(); err == nil && addr-s.Addr < uint64(len(data)) {
				return data[addr-s.Addr:]
			}
		}
	}
	return nil
}
