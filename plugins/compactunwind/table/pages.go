package table

// parser decodes the pages of a section into its table.
type parser struct {
	section
	header
	table *Table
	room  int // how many entries there can be
	// exhausted: there were more.
	exhausted bool
}

// add appends an entry.
func (p *parser) add(start uint32, e Encoding) {
	p.table.starts = append(p.table.starts, start)
	p.table.encodings = append(p.table.encodings, e)
}

// indexEntry is an entry of the first level.
type indexEntry struct {
	function, page, lsda uint32
}

func (p *parser) indexEntry(i uint64) indexEntry {
	return indexEntry{
		function: p.word(p.index, i, indexEntrySize, 0),
		page:     p.word(p.index, i, indexEntrySize, 4),
		lsda:     p.word(p.index, i, indexEntrySize, 8),
	}
}

// pages decodes all pages. The last entry of the index is a sentinel: it has no
// page, and where its code would start is the end.
func (p *parser) pages() {
	last := p.index.n - 1
	for i := range last {
		e, next := p.indexEntry(i), p.indexEntry(i+1)
		at := p.index.off + i*indexEntrySize
		if next.function < e.function {
			// Whichever of them is wrong: the pages behind cannot be placed.
			p.table.problem(int(i), -1, at, "the index is out of order: %#x before %#x", e.function, next.function)
			p.add(e.function, hole)
			return
		}
		kept := len(p.table.starts)
		if !p.page(int(i), e, next.function) {
			p.table.starts, p.table.encodings = p.table.starts[:kept], p.table.encodings[:kept]
			p.add(e.function, hole)
		}
		if p.exhausted {
			return
		}
		p.lsdas(i, e, next)
	}
	end := p.indexEntry(last)
	if end.page != 0 {
		p.table.problem(int(last), -1, p.index.off+last*indexEntrySize, "the index does not end in a sentinel: the last page's code has no end")
	}
	p.add(end.function, hole)
}

// page decodes a page of the second level, whose code ends at end. It returns
// false for a page that contradicts itself.
func (p *parser) page(i int, e indexEntry, end uint32) bool {
	at := uint64(e.page)
	if e.page == 0 {
		p.table.problem(i, -1, p.index.off+uint64(i)*indexEntrySize, "a sentinel in the middle of the index")
		return false
	}
	kind, ok := p.u32(at)
	switch {
	case !ok:
		p.table.problem(i, -1, at, "it lies outside the section of %d bytes", len(p.section))
		return false
	case kind == pageRegular:
		return p.regular(i, at, e.function, end)
	case kind == pageCompressed:
		return p.compressed(i, at, e.function, end)
	}
	p.table.problem(i, -1, at, "kind %d is not known (2 and 3 are)", kind)
	return false
}

// entries returns a page's array of entries: u16 offset from the page, u16 count.
func (p *parser) entries(i int, page, field, size uint64) (array, bool) {
	off, ok1 := p.u16(page + field)
	n, ok2 := p.u16(page + field + 2)
	if !ok1 || !ok2 {
		p.table.problem(i, -1, page, "its header does not lie in the section of %d bytes", len(p.section))
		return array{}, false
	}
	a := array{page + uint64(off), uint64(n)}
	if n > 0 && !p.holds(a.off, a.n, size) {
		p.table.problem(i, -1, page+field, "%d elements at offset %#x do not lie in the section of %d bytes", n, a.off, len(p.section))
		return array{}, false
	}
	return a, true
}

// place checks and adds one entry of a page. prev is the entry before, or the
// page's start.
func (p *parser) place(i int, k, at uint64, start, prev, end uint32, e Encoding) bool {
	switch {
	case start < prev:
		p.table.problem(i, int(k), at, "entries are out of order: %#x after %#x", start, prev)
		return false
	case start > end:
		p.table.problem(i, int(k), at, "%#x lies beyond the page's end %#x", start, end)
		return false
	case e == hole:
		p.table.problem(i, int(k), at, "invalid encoding %#x", uint32(e))
		return false
	case len(p.table.starts) >= p.room:
		// Pages that share their entries: no linker does that, and the table could
		// grow with the square of the section.
		p.table.problem(i, int(k), at, "the pages have more entries than the section has room for")
		p.exhausted = true
		return false
	}
	if k == 0 && start != prev {
		p.table.problem(i, 0, at, "the first entry starts at %#x, the page at %#x", start, prev)
		p.add(prev, hole)
	}
	p.add(start, e)
	return true
}

// regular decodes a page of {function offset, encoding}.
func (p *parser) regular(i int, page uint64, first, end uint32) bool {
	const size = regularSize
	a, ok := p.entries(i, page, 4, size)
	if !ok {
		return false
	}
	prev := first
	for k := range a.n {
		start := p.word(a, k, size, 0)
		if !p.place(i, k, a.off+k*size, start, prev, end, Encoding(p.word(a, k, size, 4))) {
			return false
		}
		prev = start
	}
	return p.full(i, page, a)
}

// compressed decodes a page of words: 8 bits that choose an encoding, of the
// section's common ones or else of the page's, and 24 bits of offset from the
// page's first function.
func (p *parser) compressed(i int, page uint64, first, end uint32) bool {
	const size = compressedSize
	a, ok := p.entries(i, page, 4, size)
	if !ok {
		return false
	}
	palette, ok := p.entries(i, page, 8, size)
	if !ok {
		return false
	}
	prev := first
	for k := range a.n {
		word := p.word(a, k, size, 0)
		at := a.off + k*size
		which := uint64(word >> 24)
		var e Encoding
		switch {
		case which < p.common.n:
			e = Encoding(p.word(p.common, which, size, 0))
		case which-p.common.n < palette.n:
			e = Encoding(p.word(palette, which-p.common.n, size, 0))
		default:
			p.table.problem(i, int(k), at, "encoding %d of %d common and %d of the page's own", which, p.common.n, palette.n)
			return false
		}
		start := first + word&0xff_ffff
		if start < first {
			p.table.problem(i, int(k), at, "offset %#x leaves the address space", word&0xff_ffff)
			return false
		}
		if !p.place(i, k, at, start, prev, end, e) {
			return false
		}
		prev = start
	}
	return p.full(i, page, a)
}

// full refuses a page without entries: its code would be the page's before.
func (p *parser) full(i int, page uint64, a array) bool {
	if a.n == 0 {
		p.table.problem(i, -1, page, "it has no entries")
	}
	return a.n > 0
}

// lsdas takes in the language-specific data areas of a page's functions: from
// where the index says to where its next entry says.
func (p *parser) lsdas(i uint64, e, next indexEntry) {
	if next.lsda < e.lsda || (next.lsda-e.lsda)%lsdaEntrySize != 0 {
		p.table.problem(int(i), -1, p.index.off+i*indexEntrySize+8, "LSDA entries from offset %#x to %#x", e.lsda, next.lsda)
		return
	}
	a := array{uint64(e.lsda), uint64(next.lsda-e.lsda) / lsdaEntrySize}
	if a.n > 0 && !p.holds(a.off, a.n, lsdaEntrySize) {
		p.table.problem(int(i), -1, a.off, "%d LSDA entries do not lie in the section of %d bytes", a.n, len(p.section))
		return
	}
	for k := range a.n {
		l := LSDA{Function: p.word(a, k, lsdaEntrySize, 0), Data: p.word(a, k, lsdaEntrySize, 4)}
		if n := len(p.table.lsda); n > 0 && p.table.lsda[n-1].Function > l.Function {
			p.table.problem(int(i), int(k), a.off+k*lsdaEntrySize, "LSDA entries are out of order")
			return
		}
		if len(p.table.lsda) >= p.room {
			p.table.problem(int(i), int(k), a.off, "there are more LSDA entries than the section has room for")
			return
		}
		p.table.lsda = append(p.table.lsda, l)
	}
}
