package mutated

import (
	"debug/elf"
	"fmt"
)

// abbreviation is a kind of entries (DWARF 5, section 7.5.3).
type abbreviation struct {
	attributes []attribute
}

type attribute struct{ name, form int }

// debugReaders are those of the sections with debugging information. They share the abbreviations.
func debugReaders(data []byte, f *elf.File) map[string]func(*cursor) {
	var abbrevs map[int]map[int]abbreviation
	if s := f.Section(".debug_abbrev"); s != nil && s.Flags&elf.SHF_COMPRESSED == 0 && s.Offset+s.FileSize <= uint64(len(data)) {
		abbrevs = abbreviations(&cursor{data: data, at: int(s.Offset), end: int(s.Offset + s.FileSize), part: &part{}})
	}
	return map[string]func(*cursor){
		".eh_frame": frames(true), ".debug_frame": frames(false), ".sframe": sframe,
		".debug_abbrev": func(c *cursor) { abbreviations(c) },
		".debug_info":   func(c *cursor) { units(c, abbrevs) },
		".debug_line":   lineTables,
		".debug_ranges": func(c *cursor) { c.words(8, "address") },
		".debug_loc":    func(c *cursor) { c.words(8, "address") },
		".debug_str_offsets": func(c *cursor) {
			headed(c, "version2 padding2", func(inner *cursor, offset int) { inner.words(offset, "offset") })
		},
		".debug_addr": func(c *cursor) {
			headed(c, "version2 addresses1 segments1", func(inner *cursor, _ int) { inner.words(8, "address") })
		},
		".debug_rnglists": lists, ".debug_loclists": lists,
		".debug_aranges": func(c *cursor) {
			headed(c, "version2 unit4 addresses1 segments1 padding4", func(inner *cursor, _ int) { inner.words(8, "address") })
		},
	}
}

// headed reads tables that begin with a length.
func headed(c *cursor, header string, read func(inner *cursor, offset int)) {
	for c.more(4) {
		from := c.at
		inner, offset := c.sized()
		inner.columns(header)
		read(&inner, offset)
		c.part.entries = append(c.part.entries, area{from, c.at})
	}
}

// lists reads lists of ranges and of places (section 7.28, 7.29).
func lists(c *cursor) {
	headed(c, "version2 addresses1 segments1", func(inner *cursor, offset int) {
		n := inner.number(4, "number of offsets")
		for ; n > 0 && inner.more(offset); n-- {
			inner.number(offset, "offset")
		}
		inner.words(1, "byte")
	})
}

// abbreviations reads tables of them, by their offsets.
func abbreviations(c *cursor) map[int]map[int]abbreviation {
	tables, begin := map[int]map[int]abbreviation{}, c.at
	for c.more(1) {
		table := map[int]abbreviation{}
		tables[c.at-begin] = table
		for c.more(1) {
			from := c.at
			code := c.leb("code")
			if code == 0 {
				break
			}
			c.leb("tag")
			c.number(1, "children")
			var a abbreviation
			for c.more(2) {
				at := attribute{c.leb("attribute"), c.leb("form")}
				if at.form == formImplicit {
					c.leb("constant")
				}
				if at == (attribute{}) {
					break
				}
				a.attributes = append(a.attributes, at)
			}
			table[code] = a
			c.part.entries = append(c.part.entries, area{from, c.at})
		}
	}
	return tables
}

// units reads .debug_info (section 7.5).
func units(c *cursor, abbrevs map[int]map[int]abbreviation) {
	for c.more(4) {
		from := c.at
		u, offset := c.sized()
		version, kind, size := u.number(2, "version"), 0, 0
		if version >= 5 {
			kind, size = u.number(1, "unit's kind"), u.number(1, "address's size")
		}
		table := abbrevs[u.number(offset, "abbreviations")]
		if version < 5 {
			size = u.number(1, "address's size")
		}
		switch kind {
		case 4, 5: // skeleton, split_compile
			u.skip(8)
		case 2, 6: // type, split_type
			u.skip(8 + offset)
		}
		for u.more(1) {
			u.entry(table, offset, size)
		}
		c.part.entries = append(c.part.entries, area{from, c.at})
	}
}

// entry reads an entry, to the end of the unit where it is not understood.
func (c *cursor) entry(table map[int]abbreviation, offset, address int) {
	from := c.at
	code := c.leb("code")
	if code == 0 {
		return
	}
	a, ok := table[code]
	if !ok {
		c.at = c.end
		return
	}
	for _, at := range a.attributes {
		c.value(at.form, fmt.Sprintf("attribute %#x", at.name), offset, address)
	}
	c.part.entries = append(c.part.entries, area{from, c.at})
}

// Forms of attributes (section 7.5.6).
const (
	formAddr, formString, formSdata, formUdata = 0x01, 0x08, 0x0d, 0x0f
	formRefUdata, formIndirect, formImplicit   = 0x15, 0x16, 0x21
)

// widths are the sizes of forms with a fixed one; -1 is an offset's.
var widths = map[int]int{
	0x05: 2, 0x06: 4, 0x07: 8, 0x0b: 1, 0x0c: 1, 0x0e: -1, 0x10: -1, 0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8, 0x17: -1, 0x1c: 4, 0x1d: -1,
	0x1e: 16, 0x1f: -1, 0x20: 8, 0x24: 8, 0x25: 1, 0x26: 2, 0x27: 3, 0x28: 4, 0x29: 1, 0x2a: 2, 0x2b: 3, 0x2c: 4,
}

// blocks are forms that begin with a length of so many bytes, 0 for seven bits a byte.
var blocks = map[int]int{0x03: 2, 0x04: 4, 0x09: 0, 0x0a: 1, 0x18: 0}

// value reads the value of an attribute.
func (c *cursor) value(form int, meaning string, offset, address int) {
	if n, ok := widths[form]; ok {
		if n < 0 {
			n = offset
		}
		if n > 8 {
			c.skip(n)
			return
		}
		c.number(n, meaning)
		return
	}
	if n, ok := blocks[form]; ok {
		if n == 0 {
			c.skip(c.leb("block's length"))
		} else {
			c.skip(c.number(n, "block's length"))
		}
		return
	}
	switch form {
	case formAddr:
		c.number(min(address, 8), meaning)
	case formString:
		c.text()
	case formSdata, formUdata, formRefUdata, 0x1a, 0x1b, 0x22, 0x23:
		c.leb(meaning)
	case formIndirect:
		c.value(c.leb("form"), meaning, offset, address)
	case 0x19, formImplicit: // in the abbreviation
	default:
		c.at = c.end
	}
}

// lineTables reads .debug_line (section 6.2.4).
func lineTables(c *cursor) {
	for c.more(4) {
		from := c.at
		t, offset := c.sized()
		version := t.number(2, "version")
		if version >= 5 {
			t.columns("addresses1 segments1")
		}
		size := t.number(offset, "header's length")
		program := t.from(t.at + size)
		t.number(1, "quantum")
		if version >= 4 {
			t.number(1, "operations")
		}
		t.columns("statement1 base1 range1")
		for n := t.number(1, "opcodes"); n > 1 && t.more(1); n-- {
			t.number(1, "operands")
		}
		if version >= 5 {
			t.paths(offset)
			t.paths(offset)
		}
		program.words(1, "opcode")
		c.part.entries = append(c.part.entries, area{from, c.at})
	}
}

// paths reads the folders or files of a line table of DWARF 5 (section 6.2.4.1).
func (c *cursor) paths(offset int) {
	var formats []attribute
	for n := c.number(1, "number of formats"); n > 0 && c.more(2); n-- {
		formats = append(formats, attribute{c.leb("content"), c.leb("form")})
	}
	for n := c.leb("number of paths"); n > 0 && c.more(1) && len(formats) > 0; n-- {
		from := c.at
		for _, f := range formats {
			c.value(f.form, fmt.Sprintf("content %#x", f.name), offset, 8)
		}
		c.part.entries = append(c.part.entries, area{from, c.at})
	}
}
