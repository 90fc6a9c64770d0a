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
	l := rangeList{u: u, base: u.base, each: real}
	if u.version >= 5 {
		return l.read5(list)
	}
	off, ok := list.offset()
	if !ok {
		return errNoRef
	}
	if e.tag != dwarf.TagCompileUnit { // the skeleton's own are not relative
		off += u.rangesBase
	}
	return l.read4(off)
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

// dropped says whether an address stands for code that the linker has dropped.
func (u *unit) dropped(addr uint64) bool { return addr == 0 && !u.t.src.Unlinked || u.isMark(addr) }

// isMark says whether an address is no place of code: all ones, or one less in lists
// where all ones mean something.
func (z sizes) isMark(addr uint64) bool { return addr >= ^uint64(0)>>(64-8*z.address)-1 }

// rangeList is a list of ranges that is being read.
type rangeList struct {
	u    *unit
	c    cursor
	base uint64 // the address that ranges count from
	each func(low, high uint64)
	err  error // the first of an index of an address
}

// read4 reads a list of .debug_ranges (DWARF 4, section 2.17.3).
func (l *rangeList) read4(off uint64) error {
	s := l.u.from.ranges
	l.c = cursorAt(s, l.u.t.order, off, s.size())
	newBase := ^uint64(0) >> (64 - 8*l.u.address)
	for range l.u.t.allowRanges() {
		low, high := l.address(), l.address()
		l.u.t.rangesRead++
		switch {
		case l.c.err != nil || low == 0 && high == 0:
			return l.c.err
		case low == newBase:
			l.base = high
		case low != high:
			l.each(l.base+low, l.base+high)
		}
	}
	l.c.fail("too many ranges")
	return l.c.err
}

// read5 reads a list of .debug_rnglists.
func (l *rangeList) read5(list value) error {
	u, s := l.u, l.u.from.rnglists
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
	l.c = cursorAt(s, u.t.order, off, s.size())
	for range u.t.allowRanges() {
		kind := l.c.u8()
		u.t.rangesRead++
		if l.c.err != nil || kind == rleEndOfList {
			return l.c.err
		}
		low, high := l.entry(kind)
		switch {
		case l.c.err != nil:
			return l.c.err
		case l.err != nil:
			return l.err
		case !u.isMark(l.base):
			l.each(low, high)
		}
	}
	l.c.fail("too many ranges")
	return l.c.err
}

// entry reads what follows the kind of an entry of .debug_rnglists. The range is empty
// if the entry has none.
func (l *rangeList) entry(kind uint64) (low, high uint64) {
	switch kind {
	case rleBaseAddressx:
		l.base = l.indexed()
	case rleStartxEndx:
		low, high = l.indexed(), l.indexed()
	case rleStartxLength:
		low = l.indexed()
		high = low + l.c.uleb()
	case rleOffsetPair:
		low, high = l.c.uleb(), l.c.uleb()
		low, high = l.base+low, l.base+high
	case rleBaseAddress:
		l.base = l.address()
	case rleStartEnd:
		low, high = l.address(), l.address()
	case rleStartLength:
		low = l.address()
		high = low + l.c.uleb()
	default:
		l.c.fail("an unknown kind of range")
	}
	return low, high
}

func (l *rangeList) address() uint64 { return l.c.uint(l.u.address) }

// indexed reads the index of an address.
func (l *rangeList) indexed() uint64 {
	at, err := l.u.addressAt(l.c.uleb())
	if l.err == nil {
		l.err = err
	}
	return at
}

// allowRanges returns how many entries of the next list may be read: lists may overlap, and any number of entries have the same.
func (t *Table) allowRanges() int { return max(0, min(maxRanges, maxRangesRead-t.rangesRead)) }
