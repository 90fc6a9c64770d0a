package dwarfline

import "encoding/binary"

// cursor reads values from a section one after the other. After an error every
// value is 0, and the error stays.
type cursor struct {
	s      *section
	order  binary.ByteOrder
	off    uint64
	loaded uint64 // up to here the bytes are there
	end    uint64
	err    error
}

// cursorStep is how many bytes a cursor asks for at once.
const cursorStep = 4 << 10

// cursorAt returns a cursor for the bytes from, to.
func cursorAt(s *section, order binary.ByteOrder, from, to uint64) cursor {
	c := cursor{s: s, order: order, off: from, loaded: from, end: to}
	switch {
	case s == nil:
		c.err = errAbsent
	case s.err != nil:
		c.err = s.err
	case to > s.size() || from > to:
		c.err = &FormatError{s.name, from, "outside the section"}
	}
	if c.err != nil {
		c.end, c.loaded = c.off, c.off
	}
	return c
}

// fail sets the error, unless there is one.
func (c *cursor) fail(what string) {
	if c.err == nil {
		c.err = &FormatError{c.s.name, c.off, what}
	}
	c.end, c.loaded = c.off, c.off
}

// have makes sure that n bytes are there.
func (c *cursor) have(n uint64) bool {
	if n <= c.loaded-c.off {
		return true
	}
	return c.more(n)
}

func (c *cursor) more(n uint64) bool {
	if c.err != nil {
		return false
	}
	if n > c.end-c.off {
		c.fail("it breaks off")
		return false
	}
	want := min(c.off+max(n, cursorStep), c.end)
	if limit := c.s.limit(); limit >= c.off+n {
		want = min(want, limit)
	}
	if err := c.s.need(c.off, want); err != nil {
		c.err = err
		c.end, c.loaded = c.off, c.off
		return false
	}
	c.loaded = want
	return true
}

// done says whether everything has been read, or reading has failed.
func (c *cursor) done() bool { return c.off >= c.end }

func (c *cursor) skip(n uint64) {
	if n > c.end-c.off {
		c.fail("it breaks off")
		return
	}
	c.off += n
	c.loaded = max(c.loaded, c.off)
}

func (c *cursor) u8() uint64 {
	if !c.have(1) {
		return 0
	}
	v := c.s.data[c.off-c.s.start]
	c.off++
	return uint64(v)
}

// uint reads a number of 1 to 8 bytes.
func (c *cursor) uint(size int) uint64 {
	if !c.have(uint64(size)) {
		return 0
	}
	b := c.s.data[c.off-c.s.start:][:size]
	c.off += uint64(size)
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(c.order.Uint16(b))
	case 4:
		return uint64(c.order.Uint32(b))
	case 8:
		return c.order.Uint64(b)
	}
	return oddSize(c.order, b)
}

// oddSize reads a number of 3, 5, 6 or 7 bytes.
func oddSize(order binary.ByteOrder, b []byte) (v uint64) {
	for i := range b {
		at := len(b) - 1 - i
		if order == binary.BigEndian {
			at = i
		}
		v = v<<8 | uint64(b[at])
	}
	return v
}

// maxLEB is how many bytes a number of 64 bits takes at most.
const maxLEB = 10

func (c *cursor) uleb() uint64 {
	var v uint64
	for shift := uint(0); shift < 7*maxLEB; shift += 7 {
		b := c.u8()
		v |= b & 0x7f << shift
		if b&0x80 == 0 {
			return v
		}
	}
	c.fail("a LEB128 number without end")
	return 0
}

func (c *cursor) sleb() int64 {
	var v uint64
	for shift := uint(0); shift < 7*maxLEB; shift += 7 {
		b := c.u8()
		v |= b & 0x7f << shift
		if b&0x80 == 0 {
			if b&0x40 != 0 && shift+7 < 64 {
				v |= ^uint64(0) << (shift + 7)
			}
			return int64(v)
		}
	}
	c.fail("a LEB128 number without end")
	return 0
}

// text skips a string that ends with a zero, and returns where it begins.
func (c *cursor) text() (at uint64) {
	at = c.off
	for c.u8() != 0 {
	}
	return at
}

// length reads a unit's length (DWARF 5, section 7.4), and returns the size of the
// offsets in it too.
func (c *cursor) length() (n uint64, offsetSize int) {
	switch n = c.uint(4); {
	case n < 0xfffffff0:
		return n, 4
	case n == 0xffffffff:
		return c.uint(8), 8
	}
	c.fail("a reserved length")
	return 0, 4
}
