package table

import "github.com/clewdbg/clew/unwind"

// Decode returns the rule of an entry of the table, like [Encoding.Decode]. The
// error is an [*Error] with the entry's place, whose cause is an [*EncodingError].
func (t *Table) Decode(arch unwind.Arch, e Entry, code Code) (Rule, error) {
	r, err := e.Encoding.Decode(arch, code)
	if err != nil {
		return Rule{}, t.Refuse(e, err)
	}
	return r, nil
}

// Refuse returns the error for an entry of the table that cannot be used, with
// its place in the section. It searches the pages for that, in time proportional
// to the entries of one.
func (t *Table) Refuse(e Entry, why error) error {
	at := Error{Page: -1, Entry: -1, Reason: why.Error(), Err: why}
	p := parser{section: t.section, header: t.header, table: &Table{}}
	// Of pages that start at one address the last has entries with a length.
	for i := uint64(0); i+1 < p.index.n; i++ {
		page := p.indexEntry(i)
		if page.function > e.Start {
			break
		}
		if p.indexEntry(i+1).function > e.Start {
			at.Page, at.Offset = int(i), uint64(page.page)
			p.find(&at, page, e.Start)
			break
		}
	}
	return &at
}

// find fills in the last entry of a page that starts at an offset.
func (p *parser) find(at *Error, page indexEntry, start uint32) {
	size := uint64(regularSize)
	if kind, _ := p.u32(uint64(page.page)); kind == pageCompressed {
		size = compressedSize
	}
	a, ok := p.entries(at.Page, uint64(page.page), 4, size)
	if !ok {
		return
	}
	for k := range a.n {
		v := p.word(a, k, size, 0)
		if size == compressedSize {
			v = page.function + v&0xff_ffff
		}
		if v == start {
			at.Entry, at.Offset = int(k), a.off+k*size
		}
	}
}
