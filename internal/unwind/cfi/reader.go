package cfi

import "encoding/binary"

// reader reads values from data[pos:]. The first read that does not fit sets
// failed; from then on every read returns 0 and pos stays.
type reader struct {
	data   []byte
	pos    int
	big    bool // big-endian
	failed bool
}

// left is the number of bytes that are not read yet.
func (r *reader) left() int { return len(r.data) - r.pos }

func (r *reader) fail() uint64 {
	r.failed = true
	return 0
}

// unsigned reads a number of 1, 2, 4 or 8 bytes.
func (r *reader) unsigned(size int) uint64 {
	if r.failed || r.left() < size {
		return r.fail()
	}
	p := r.data[r.pos : r.pos+size]
	r.pos += size
	switch {
	case size == 1:
		return uint64(p[0])
	case size == 2 && r.big:
		return uint64(binary.BigEndian.Uint16(p))
	case size == 2:
		return uint64(binary.LittleEndian.Uint16(p))
	case size == 4 && r.big:
		return uint64(binary.BigEndian.Uint32(p))
	case size == 4:
		return uint64(binary.LittleEndian.Uint32(p))
	case r.big:
		return binary.BigEndian.Uint64(p)
	}
	return binary.LittleEndian.Uint64(p)
}

// signed reads a number in two's complement.
func (r *reader) signed(size int) int64 {
	shift := 64 - 8*size
	return int64(r.unsigned(size)<<shift) >> shift
}

func (r *reader) byte() byte { return byte(r.unsigned(1)) }

// uleb reads an unsigned LEB128; one that does not fit in 64 bits fails.
func (r *reader) uleb() uint64 {
	if !r.failed && r.pos < len(r.data) && r.data[r.pos] < 0x80 { // the most common
		r.pos++
		return uint64(r.data[r.pos-1])
	}
	v, n := binary.Uvarint(r.data[r.pos:])
	if r.failed || n <= 0 {
		return r.fail()
	}
	r.pos += n
	return v
}

// sleb reads a signed LEB128; one that does not fit in 64 bits fails.
func (r *reader) sleb() int64 {
	var v int64
	for shift := 0; ; shift += 7 {
		b := r.byte()
		if r.failed || shift == 63 && b != 0 && b != 0x7f || shift > 63 {
			r.fail()
			return 0
		}
		v |= int64(b&0x7f) << shift
		if b < 0x80 {
			if shift < 57 && b&0x40 != 0 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
}

// skip passes n bytes.
func (r *reader) skip(n uint64) {
	if r.failed || n > uint64(r.left()) {
		r.fail()
		return
	}
	r.pos += int(n)
}

// text reads a string up to its 0.
func (r *reader) text() []byte {
	for i := r.pos; i < len(r.data) && !r.failed; i++ {
		if r.data[i] == 0 {
			s := r.data[r.pos:i]
			r.pos = i + 1
			return s
		}
	}
	r.fail()
	return nil
}
