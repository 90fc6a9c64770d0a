package mutated

// from is a cursor at another place of the same table.
func (c *cursor) from(at int) cursor {
	out := *c
	out.at = max(0, min(at, c.end))
	return out
}

// sframe reads an SFrame table of version 1, 2 or 3.
func sframe(c *cursor) {
	const header = 28
	if !c.more(header) {
		return
	}
	begin, version, aux := c.at, c.data[c.at+2], int(c.data[c.at+7])
	c.columns("magic2 version1 flags1 abi1 fp1 ra1 aux1")
	functions := c.number(4, "functions")
	c.number(4, "rows")
	c.number(4, "bytes of rows")
	places := begin + header + aux + c.number(4, "place of functions")
	rows := begin + header + aux + c.number(4, "place of rows")
	for f := c.from(places); functions > 0 && f.more(1); functions-- {
		from := f.at
		var row cursor
		var n, info int
		if version == 3 {
			f.number(8, "start")
			f.number(4, "size")
			row = c.from(rows + f.number(4, "first row"))
			n, info = row.number(2, "number of rows"), row.number(1, "info")
			row.number(1, "info2")
			row.number(1, "repeated")
		} else {
			f.number(4, "start")
			f.number(4, "size")
			row = c.from(rows + f.number(4, "first row"))
			n, info = f.number(4, "number of rows"), f.number(1, "info")
			if version == 2 {
				f.number(1, "repeated")
				f.skip(2)
			}
		}
		c.part.entries = append(c.part.entries, area{from, f.at})
		row.sframeRows(n, info)
	}
}

// sframeRows reads the rows of a function.
func (c *cursor) sframeRows(n, info int) {
	for ; n > 0 && c.more(1); n-- {
		from := c.at
		c.number(min(1<<(info&15), 4), "row's start")
		row := c.number(1, "row's info")
		for range row >> 1 & 15 {
			c.number(min(1<<(row>>5&3), 4), "row's offset")
		}
		c.part.entries = append(c.part.entries, area{from, c.at})
	}
}

// common is what the FDEs of a CIE need to be read.
type common struct {
	sized    bool
	encoding byte
}

// frames reads call-frame information, of .eh_frame or .debug_frame (DWARF 5, section 6.4.1; LSB, "Exception Frames").
func frames(inEH bool) func(*cursor) {
	return func(c *cursor) {
		commons, begin := map[int]common{}, c.at
		for c.more(8) {
			from := c.at
			e, offset := c.sized()
			if e.at == e.end {
				continue
			}
			at := e.at
			id := e.number(offset, "CIE")
			owner, isCIE := begin+id, id == 0xffffffff || id == -1
			if inEH {
				owner, isCIE = at-id, id == 0
			}
			if isCIE {
				commons[from] = e.cie()
			} else {
				e.fde(commons[owner])
			}
			e.instructions()
			c.part.entries = append(c.part.entries, area{from, c.at})
		}
	}
}

func (c *cursor) cie() (out common) {
	c.number(1, "CIE's version")
	augmented := c.from(c.at)
	text := c.text()
	for range text {
		augmented.number(1, "augmentation")
	}
	c.leb("code alignment")
	c.leb("data alignment")
	c.leb("return address's register")
	for _, letter := range text {
		switch letter {
		case 'z':
			out.sized = true
			c.leb("augmentation's length")
		case 'P':
			c.pointer(byte(c.number(1, "encoding")), "personality")
		case 'L':
			c.number(1, "encoding")
		case 'R':
			out.encoding = byte(c.number(1, "encoding"))
		}
	}
	return out
}

func (c *cursor) fde(of common) {
	c.pointer(of.encoding, "start")
	c.pointer(of.encoding, "range")
	if of.sized {
		c.skip(c.leb("augmentation's length"))
	}
}

// pointer reads a pointer with an encoding (LSB, "DWARF Exception Header Encoding").
func (c *cursor) pointer(encoding byte, meaning string) {
	switch encoding & 7 {
	case 1:
		c.leb(meaning)
	case 2:
		c.number(2, meaning)
	case 3:
		c.number(4, meaning)
	default:
		c.number(8, meaning)
	}
}

// operands are those of call-frame instructions (DWARF 5, table 7.29): 1, 2, 4 and 8 bytes, n a number of seven bits a
// byte, b a block.
var operands = map[int]string{
	0x01: "8", 0x02: "1", 0x03: "2", 0x04: "4", 0x05: "nn", 0x06: "n", 0x07: "n", 0x08: "n", 0x09: "nn", 0x0c: "nn", 0x0d: "n", 0x0e: "n",
	0x0f: "b", 0x10: "nb", 0x11: "nn", 0x12: "nn", 0x13: "n", 0x14: "nn", 0x15: "nn", 0x16: "nb", 0x2e: "n",
}

// instructions reads a program of call-frame instructions.
func (c *cursor) instructions() {
	for c.more(1) {
		op := c.number(1, "instruction")
		want := operands[op]
		if op>>6 == 2 { // DW_CFA_offset
			want = "n"
		}
		for _, kind := range want {
			switch kind {
			case 'n':
				c.leb("operand")
			case 'b':
				c.skip(c.leb("block's length"))
			default:
				c.number(int(kind-'0'), "advance")
			}
		}
	}
}

// compactUnwind reads __unwind_info (compact_unwind_encoding.h).
func compactUnwind(c *cursor) {
	begin := c.at
	c.number(4, "version")
	list := func(at, n int, meaning string) {
		for p := c.from(begin + at); n > 0 && p.more(4); n-- {
			p.number(4, meaning)
		}
	}
	encodings, n := c.number(4, "place of encodings"), c.number(4, "number of encodings")
	list(encodings, n, "encoding")
	personalities, n := c.number(4, "place of personalities"), c.number(4, "number of personalities")
	list(personalities, n, "personality")
	index := c.from(begin + c.number(4, "place of the index"))
	for n := c.number(4, "number of pages"); n > 0 && index.more(12); n-- {
		from := index.at
		index.number(4, "page's start")
		page := index.number(4, "page's place")
		index.number(4, "place of landing pads")
		c.part.entries = append(c.part.entries, area{from, index.at})
		if page > 0 {
			p := c.from(begin + page)
			p.unwindPage(begin + page)
		}
	}
}

// unwindPage reads a page of the second level.
func (c *cursor) unwindPage(begin int) {
	kind, at, n := c.number(4, "page's kind"), c.number(2, "place of entries"), c.number(2, "number of entries")
	entries := c.from(begin + at)
	if kind == 3 {
		own := c.from(begin + c.number(2, "place of the page's encodings"))
		for n := c.number(2, "number of the page's encodings"); n > 0; n-- {
			own.number(4, "encoding")
		}
	}
	for ; n > 0 && entries.more(4); n-- {
		entries.number(3, "entry's start")
		entries.number(1, "entry's encoding")
		if kind == 2 {
			entries.number(4, "encoding")
		}
	}
}

// machOHeader reads the load commands of a 64-bit Mach-O file (mach-o/loader.h).
func machOHeader(c *cursor) {
	const segment = 0x19
	c.columns("magic4 cpu4 cpu4 filetype4 ncmds4 sizeofcmds4 flags4 reserved4")
	for c.more(8) {
		from := c.at
		kind := c.number(4, "command")
		inner := *c
		inner.end = min(c.end, max(c.at+4, from+c.number(4, "command's size")))
		inner.skip(4)
		if kind == segment {
			inner.skip(16)
			inner.columns("vmaddr8 vmsize8 fileoff8 filesize8 maxprot4 initprot4 nsects4 flags4")
			for inner.more(80) {
				inner.skip(32)
				inner.columns("addr8 size8 offset4 align4 reloff4 nreloc4 flags4 reserved4 reserved4 reserved4")
			}
		}
		inner.words(4, "word")
		c.at = inner.end
		c.part.entries = append(c.part.entries, area{from, c.at})
	}
}

// machOSymbols reads a table of symbols (mach-o/nlist.h).
func machOSymbols(c *cursor) {
	for c.more(16) {
		c.columns("strx4 type1 sect1 desc2 value8")
	}
}
