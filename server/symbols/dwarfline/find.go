package dwarfline

import "iter"

// unitsAt returns the units that may describe an address: by .debug_aranges, which
// is cheap, then by what the units themselves say, which has all of them read.
// Each comes once, and has been opened.
func (t *Table) unitsAt(addr uint64) iter.Seq[*unit] {
	return func(yield func(*unit) bool) {
		tried := make(map[uint64]bool)
		for _, read := range []func() *spans{t.readAranges, t.readUnits} {
			for s := range read().at(addr) {
				if tried[s.of] {
					continue
				}
				if len(tried) == maxClaims {
					return
				}
				tried[s.of] = true
				if u := t.usable(s.of); u != nil && !yield(u) {
					return
				}
			}
		}
	}
}

// usable returns the unit with its header at off, if it describes code.
func (t *Table) usable(off uint64) *unit {
	u, err := t.unitAt(off)
	if err != nil {
		t.problem(nil, err)
		return nil
	}
	if err := u.open(); err != nil {
		t.problem(u, err)
		return nil
	}
	if !u.describesCode() {
		return nil
	}
	return u
}

// unitAt returns the unit with its header at off.
func (t *Table) unitAt(off uint64) (*unit, error) {
	if u, ok := t.units[off]; ok {
		return u, nil
	}
	u, err := t.unitHeader(t.ownSections(), off)
	if err != nil {
		return nil, err
	}
	t.units[off] = u
	return u, nil
}

// listUnits lists the units up to an offset. A length that leads out of the section
// ends the list.
func (t *Table) listUnits(upTo uint64) {
	info := t.section(".debug_info")
	for t.listedTo <= upTo && t.listedTo < info.size() {
		u, err := t.unitAt(t.listedTo)
		if err != nil {
			t.problem(nil, err)
			t.listedTo = info.size()
			return
		}
		t.listed = append(t.listed, u)
		t.listedTo = u.end
	}
}

// readAranges reads .debug_aranges (DWARF 5, section 6.1.2), once.
func (t *Table) readAranges() *spans {
	if t.aranges != nil {
		return t.aranges
	}
	t.aranges = &spans{}
	s := t.section(".debug_aranges")
	if s == nil {
		return t.aranges
	}
	c := cursorAt(s, t.order, 0, s.size())
	for !c.done() {
		length, offsetSize := c.length()
		if c.err != nil || length > c.end-c.off {
			c.fail("a set that is longer than the section")
			break
		}
		set := c
		set.end = c.off + length
		set.loaded = min(set.loaded, set.end)
		t.readSet(&set, offsetSize)
		if set.err != nil {
			t.problem(nil, set.err)
		}
		c.skip(length)
	}
	if c.err != nil {
		t.problem(nil, c.err)
	}
	return t.aranges
}

// readSetHeader reads what is between the length of a set of ranges and the first range:
// the unit that they are of, and the size of addresses.
func readSetHeader(c *cursor, offsetSize int) (of, size uint64) {
	begin := c.off - uint64(offsetSize) - uint64(offsetSize/8*4) // where the length is
	version := c.uint(2)
	of = c.uint(offsetSize)
	size = c.u8()
	segment := c.u8()
	if version != 2 || size != 4 && size != 8 || segment != 0 {
		c.fail("a set of ranges of an unknown form")
		return 0, 0
	}
	if over := (c.off - begin) % (2 * size); over != 0 {
		c.skip(2*size - over)
	}
	return of, size
}

// readSet reads the ranges of one unit, behind the length.
func (t *Table) readSet(c *cursor, offsetSize int) {
	of, size := readSetHeader(c, offsetSize)
	for c.err == nil && c.end-c.off >= 2*size {
		low, n := c.uint(int(size)), c.uint(int(size))
		switch {
		case low == 0 && n == 0:
			return
		case low == 0 && !t.src.Unlinked || low+n <= low: // dropped by the linker, or invalid
		case !t.aranges.add(low, low+n, of):
			c.fail("too many ranges")
		}
	}
}

// readUnits reads the ranges of every unit, once: those of its first entry, or if it
// has none those of its functions.
func (t *Table) readUnits() *spans {
	if t.spans != nil {
		return t.spans
	}
	t.spans = &spans{}
	t.listUnits(^uint64(0))
	for _, listed := range t.listed {
		if listed.kind == unitType {
			continue
		}
		had := listed.opened
		u := t.usable(listed.start)
		if u == nil {
			if !had { // else it may be in use
				listed.forget()
			}
			continue
		}
		if err := u.addRanges(t.spans); err != nil {
			t.problem(u, err)
		}
	}
	return t.spans
}

// addRanges adds the unit's ranges.
func (u *unit) addRanges(to *spans) error {
	n := len(to.all)
	err := u.ranges(u.root, func(low, high uint64) { to.add(low, high, u.start) })
	if err != nil || len(to.all) > n || !u.root.attrs[atRanges].absent() {
		return err
	}
	d, err := u.described()
	if err != nil {
		return err
	}
	functions, err := d.functions.read()
	if err != nil {
		return err
	}
	for i := range functions.all {
		to.add(functions.all[i].low, functions.all[i].high, u.start)
	}
	return nil
}
