package dwarfline

import (
	"debug/dwarf"
	"errors"
)

// Entries of a location list (DWARF 5, section 7.7.3).
const (
	lleEndOfList       = 0x00
	lleDefaultLocation = 0x05
	lleBaseAddress     = 0x06
	lleViewPair        = 0x09 // GCC's, with two numbers of views
)

// maxLocations bounds the entries of a location list that are read.
const maxLocations = 1 << 16

var (
	// ErrManyLocations says that a location list is not read to its end.
	ErrManyLocations = errors.New("its list of locations has too many entries")
	// ErrLocationsSpent says that a location list is not read, since what lists may cost is spent.
	ErrLocationsSpent = errors.New("the lists of locations before it have too many entries together")
)

// Location returns the expression that an attribute has for an address: its own, or that of its
// list. There is none where has is false, and for this address none where expression is nil. It must
// not be changed. Of left, which bounds what lists cost that are asked for together, each entry of a list takes one.
func (e *Entry) Location(a dwarf.Attr, addr uint64, left *int) (expression []byte, has bool, err error) {
	if data, ok, err := e.Block(a); ok || err != nil {
		return data, true, err
	}
	v, ok := e.value(a)
	if !ok {
		return nil, false, nil
	}
	e.t.mu.Lock()
	defer e.t.mu.Unlock()
	l := locationList{rangeList: rangeList{u: e.u, base: e.u.base}, addr: addr}
	off, ok := v.value.offset()
	s := e.u.from.loc
	if e.u.version >= 5 {
		s = e.u.from.loclists
	}
	if v.value.form == formLoclistx {
		at, err := e.u.indexed(s, e.u.loclistsBase, v.value.n, e.u.offset)
		if err != nil {
			return nil, true, err
		}
		off, ok = e.u.loclistsBase+at, true
	} else if ok && e.u.isSplit() {
		off += e.u.from.loclistsAt
	}
	if !ok {
		return nil, false, nil
	}
	l.c = cursorAt(s, e.u.t.order, off, s.size())
	expression, err = l.find(left)
	return expression, true, err
}

// locationList is a location list that is being read.
type locationList struct {
	rangeList
	addr uint64
}

// find returns the expression for the address.
func (l *locationList) find(left *int) (found []byte, err error) {
	next := l.next5
	switch {
	case l.u.version < 5 && l.u.isSplit():
		next = l.nextSplit4
	case l.u.version < 5:
		next = l.next4
	}
	for range maxLocations {
		if *left <= 0 {
			return nil, ErrLocationsSpent
		}
		*left--
		at, expression, more := next()
		switch {
		case l.c.err != nil:
			return nil, l.c.err
		case l.err != nil:
			return nil, l.err
		case !more:
			return found, nil
		case at == hit:
			return expression, nil
		case at == fallback:
			found = expression
		}
	}
	return nil, ErrManyLocations
}

// match says what an entry of a list is to an address.
type match uint8

const (
	miss match = iota
	hit
	fallback // it counts where no other does
)

func (l *locationList) match(low, high uint64) match {
	if low <= l.addr && l.addr < high {
		return hit
	}
	return miss
}

// next4 reads an entry of .debug_loc (DWARF 4, section 2.6.2).
func (l *locationList) next4() (at match, expression []byte, more bool) {
	low, high := l.address(), l.address()
	switch {
	case low == 0 && high == 0:
		return miss, nil, false
	case low == ^uint64(0)>>(64-8*l.u.address):
		l.base = high
		return miss, nil, true
	}
	return l.match(l.base+low, l.base+high), l.expression(l.c.uint(2)), true
}

// nextSplit4 reads an entry as GCC's DebugFission has them in .debug_loc.dwo.
func (l *locationList) nextSplit4() (at match, expression []byte, more bool) {
	var low, high uint64
	switch kind := l.c.u8(); kind {
	case 0:
		return miss, nil, false
	case 1:
		l.base = l.indexed()
		return miss, nil, true
	case 2:
		low, high = l.indexed(), l.indexed()
	case 3:
		low = l.indexed()
		high = low + l.c.uint(4)
	case 4:
		low, high = l.base+l.c.uint(4), l.base+l.c.uint(4)
	default:
		l.c.fail("an unknown kind of location")
	}
	return l.match(low, high), l.expression(l.c.uint(2)), true
}

// next5 reads an entry of .debug_loclists. Kinds 1 to 4 and 6 to 8 are those of range lists, but for the
// one between, so that those behind it are one more.
func (l *locationList) next5() (at match, expression []byte, more bool) {
	kind := l.c.u8()
	switch {
	case kind == lleEndOfList:
		return miss, nil, false
	case kind == lleViewPair:
		l.c.uleb()
		l.c.uleb()
		return miss, nil, true
	case kind == lleDefaultLocation:
		return fallback, l.expression(l.c.uleb()), true
	case kind > lleDefaultLocation:
		kind--
	}
	low, high := l.entry(kind)
	if kind == rleBaseAddressx || kind == lleBaseAddress-1 {
		return miss, nil, true
	}
	expression = l.expression(l.c.uleb())
	if l.u.isMark(l.base) {
		return miss, nil, true
	}
	return l.match(low, high), expression, true
}

// expression reads an expression of n bytes. One without operations is one all the same: there is no place.
func (l *locationList) expression(n uint64) []byte {
	from := l.c.off
	if l.c.skip(n); l.c.err != nil {
		return nil
	}
	if err := l.c.s.need(from, l.c.off); err != nil {
		l.c.err = err
		return nil
	}
	return l.c.s.data[from:l.c.off:l.c.off]
}
