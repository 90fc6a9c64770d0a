package dwarfline

import "debug/dwarf"

// Entries of a range list (DWARF 5, section 7.25).
const (
	rleEndOfList = iota
	rleBaseAddressx
	rleStartxEndx
	rleStartxLength
	rleOffsetPair
	rleBaseAddress
	rleStartEnd
	rleStartLength
)

// ranges calls each for every range of an entry's code. Code that the linker has
// dropped has none.
func (u *unit) ranges(e *entry, each func(low, high uint64)) error {
	real := func(low, high uint64) {
		if low < high && !u.dropped(low) {
			each(low, high)
		}
	}
	if low, high := e.attrs[atLowPC], e.attrs[atHighPC]; low.isAddress() && !high.absent() {
		start, end, err := u.bounds(low, high)
		if err == nil {
			real(start, end)
		}
		return err
	}
	list := e.attrs[atRanges]
	if list.absent() {
		return nil
	}
	if u.version >= 5 {
		return u.rangeList5(list, real)
	}
	off, ok := list.offset()
	if !ok {
		return errNoRef
	}
	if e.tag != dwarf.TagCompileUnit { // the skeleton's own are not relative
		off += u.rangesBase
	}
	return u.rangeList4(off, real)
}

// bounds returns the range from low_pc to high_pc, which is an address or a size.
func (u *unit) bounds(low, high value) (start, end uint64, err error) {
	if start, err = u.addressOf(low); err != nil {
		return 0, 0, err
	}
	if n, ok := high.constant(); ok {
		return start, start + n, nil
	}
	end, err = u.addressOf(high)
	return start, end, err
}

// rangeList4 reads a list of .debug_ranges (DWARF 4, section 2.17.3).
func (u *unit) rangeList4(off uint64, each func(low, high uint64)) error {
	s := u.from.ranges
	c := cursorAt(s, u.t.order, off, s.size())
	base, newBase := u.base, ^uint64(0)>>(64-8*u.address)
	for range maxRanges {
		low, high := c.uint(u.address), c.uint(u.address)
		switch {
		case c.err != nil || low == 0 && high == 0:
			return c.err
		case low == newBase:
			base = high
		case low != high:
			each(base+low, base+high)
		}
	}
	c.fail("too many ranges")
	return c.err
}

// rangeList5 reads a list of .debug_rnglists.
func (u *unit) rangeList5(list value, each func(low, high uint64)) error {
	s := u.from.rnglists
	off, ok := list.offset()
	if list.form == formRnglistx {
		at, err := u.indexed(s, u.rnglistsBase, list.n, u.offset)
		if err != nil {
			return err
		}
		off, ok = u.rnglistsBase+at, true
	}
	if !ok {
		return errNoRef
	}
	c := cursorAt(s, u.t.order, off, s.size())
	base := u.base
	for range maxRanges {
		kind := c.u8()
		if c.err != nil || kind == rleEndOfList {
			return c.err
		}
		if err := u.rangeEntry(&c, kind, &base, each); err != nil {
			return err
		}
	}
	c.fail("too many ranges")
	return c.err
}

// rangeEntry reads what follows the kind of an entry of a range list.
func (u *unit) rangeEntry(c *cursor, kind uint64, base *uint64, each func(low, high uint64)) (err error) {
	indexed := func() uint64 {
		at, e := u.addressAt(c.uleb())
		if err == nil {
			err = e
		}
		return at
	}
	var low, high uint64
	switch kind {
	case rleBaseAddressx:
		*base = indexed()
	case rleStartxEndx:
		low, high = indexed(), indexed()
	case rleStartxLength:
		low = indexed()
		high = low + c.uleb()
	case rleOffsetPair:
		low, high = c.uleb(), c.uleb()
		low, high = *base+low, *base+high
	case rleBaseAddress:
		*base = c.uint(u.address)
	case rleStartEnd:
		low, high = c.uint(u.address), c.uint(u.address)
	case rleStartLength:
		low = c.uint(u.address)
		high = low + c.uleb()
	default:
		c.fail("an unknown kind of range")
	}
	if c.err != nil {
		return c.err
	}
	if err == nil && !u.isMark(*base) {
		each(low, high)
	}
	return err
}

// dropped says whether an address stands for code that the linker has dropped.
func (u *unit) dropped(addr uint64) bool { return addr == 0 && !u.t.src.Unlinked || u.isMark(addr) }

// isMark says whether an address is no place of code: all ones, or one less in lists
// where all ones mean something.
func (u *unit) isMark(addr uint64) bool { return addr >= ^uint64(0)>>(64-8*u.address)-1 }
