package mutated

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"strings"
)

// Where a section header has the section's place and size (ELF gABI, "Section Header Table").
const (
	shOffset = 24
	shSize   = 32
)

// partsOf lists the tables of a file.
func partsOf(data []byte) []part {
	if f, err := elf.NewFile(bytes.NewReader(data)); err == nil && f.Class == elf.ELFCLASS64 {
		return elfParts(data, f)
	}
	if f, err := macho.NewFile(bytes.NewReader(data)); err == nil {
		return machOParts(data, f)
	}
	return nil
}

// table reads a part with a reader.
func table(data []byte, name string, from, to, header int, read func(c *cursor)) part {
	p := part{name: name, area: area{from, to}, header: header}
	read(&cursor{data: data, at: from, end: to, part: &p})
	return p
}

// elfParts lists the headers of a file, and the sections that there are readers for.
func elfParts(data []byte, f *elf.File) []part {
	const header, program, section = 64, 56, 64
	head := cursor{data: data, end: header, part: &part{name: "header"}}
	head.skip(elf.EI_NIDENT)
	var numbers []int
	for _, size := range []int{2, 2, 4, 8, 8, 8, 4, 2, 2, 2, 2, 2, 2} {
		numbers = append(numbers, head.number(size, [...]string{"type", "machine", "version", "entry", "phoff", "shoff", "flags", "ehsize",
			"phentsize", "phnum", "shentsize", "shnum", "shstrndx"}[len(numbers)]))
	}
	phoff, shoff, phnum, shnum := numbers[4], numbers[5], numbers[9], numbers[11]
	head.part.area = area{0, header}
	parts := []part{
		*head.part,
		table(data, "program headers", phoff, phoff+program*phnum, 0, func(c *cursor) {
			for c.more(program) {
				c.columns("type4 flags4 offset8 vaddr8 paddr8 filesz8 memsz8 align8")
			}
		}),
		table(data, "section headers", shoff, shoff+section*shnum, 0, func(c *cursor) {
			for c.more(section) {
				c.columns("name4 type4 flags8 addr8 offset8 size8 link4 info4 align8 entsize8")
			}
		}),
	}
	debug := debugReaders(data, f)
	for i, s := range f.Sections {
		if s.Type == elf.SHT_NOBITS || s.FileSize == 0 || s.Offset+s.FileSize > uint64(len(data)) {
			continue
		}
		if read := sectionReader(s, debug); read != nil {
			parts = append(parts, table(data, s.Name, int(s.Offset), int(s.Offset+s.FileSize), shoff+section*i, read))
		}
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_NOTE && p.Off+p.Filesz <= uint64(len(data)) {
			parts = append(parts, table(data, "notes", int(p.Off), int(p.Off+p.Filesz), 0, notes))
		}
	}
	return parts
}

// columns reads numbers, each with its size behind its name.
func (c *cursor) columns(names string) {
	from := c.at
	for name := range strings.FieldsSeq(names) {
		c.number(int(name[len(name)-1]-'0'), name)
	}
	c.part.entries = append(c.part.entries, area{from, c.at})
}

// sectionReader reads a section, nil for one that nothing is known of.
func sectionReader(s *elf.Section, debug map[string]func(*cursor)) func(*cursor) {
	rows := func(size int, names string) func(*cursor) {
		return func(c *cursor) {
			for c.more(size) {
				c.columns(names)
			}
		}
	}
	switch {
	case s.Flags&elf.SHF_COMPRESSED != 0:
		return func(c *cursor) { c.columns("ch_type4 ch_reserved4 ch_size8 ch_addralign8") }
	case s.Type == elf.SHT_SYMTAB || s.Type == elf.SHT_DYNSYM:
		return rows(24, "name4 info1 other1 shndx2 value8 size8")
	case s.Type == elf.SHT_DYNAMIC:
		return rows(16, "tag8 value8")
	case s.Type == elf.SHT_NOTE:
		return notes
	case s.Name == ".gopclntab":
		return func(c *cursor) {
			c.columns("magic4 zero2 quantum1 pointer1 functions8 files8 text8 names8 units8 files8 numbers8 functions8")
			c.words(4, "function")
		}
	case s.Name == ".eh_frame_hdr":
		return func(c *cursor) {
			c.columns("version1 encoding1 encoding1 encoding1 frame4 count4")
			c.words(4, "entry")
		}
	case s.Name == ".gnu_debuglink":
		return func(c *cursor) { c.words(1, "byte") }
	}
	return debug[s.Name]
}

// notes reads notes (ELF gABI, "Note Section").
func notes(c *cursor) {
	for c.more(12) {
		from := c.at
		name, desc := c.number(4, "namesz"), c.number(4, "descsz")
		c.number(4, "type")
		c.skip((name + 3) &^ 3)
		inner := *c
		c.skip((desc + 3) &^ 3)
		inner.end = min(c.at, inner.at+64)
		inner.words(8, "value")
		c.part.entries = append(c.part.entries, area{from, c.at})
	}
}

// machOParts lists the headers of a Mach-O file, its symbols and compact unwind table.
func machOParts(data []byte, f *macho.File) []part {
	const header = 32
	out := []part{table(data, "load commands", 0, header+int(f.Cmdsz), 0, machOHeader)}
	if s := f.Section("__unwind_info"); s != nil && uint64(s.Offset)+s.Size <= uint64(len(data)) {
		out = append(out, table(data, s.Name, int(s.Offset), int(uint64(s.Offset)+s.Size), 0, compactUnwind))
	}
	if s := f.Section("__eh_frame"); s != nil && uint64(s.Offset)+s.Size <= uint64(len(data)) {
		out = append(out, table(data, s.Name, int(s.Offset), int(uint64(s.Offset)+s.Size), 0, frames(true)))
	}
	if s := f.Symtab; s != nil && int(s.Symoff+16*s.Nsyms) <= len(data) {
		out = append(out, table(data, "symbols", int(s.Symoff), int(s.Symoff+16*s.Nsyms), 0, machOSymbols))
	}
	return out
}
