package table

import "encoding/binary"

// The section's layout (compact_unwind_encoding.h: struct
// unwind_info_section_header and the arrays behind it).
const (
	version        = 1
	headerSize     = 7 * 4
	indexEntrySize = 3 * 4
	lsdaEntrySize  = 2 * 4

	// The kinds of pages, and the sizes of their entries.
	pageRegular    = 2
	regularSize    = 8
	pageCompressed = 3
	compressedSize = 4
)

// section is the bytes, with checked access.
type section []byte

func (s section) u16(off uint64) (uint16, bool) {
	if off > uint64(len(s)) || uint64(len(s))-off < 2 {
		return 0, false
	}
	return binary.LittleEndian.Uint16(s[off:]), true
}

func (s section) u32(off uint64) (uint32, bool) {
	if off > uint64(len(s)) || uint64(len(s))-off < 4 {
		return 0, false
	}
	return binary.LittleEndian.Uint32(s[off:]), true
}

// holds reports whether n elements of a size lie at an offset. n has at most 32
// bits and size only a few, so the product does not overflow.
func (s section) holds(off, n, size uint64) bool {
	return off <= uint64(len(s)) && n*size <= uint64(len(s))-off
}

// array is a part of the section that has been checked to lie in it.
type array struct{ off, n uint64 }

func (s section) word(a array, i uint64, size, field uint64) uint32 {
	return binary.LittleEndian.Uint32(s[a.off+i*size+field:])
}

// header is the section's first words.
type header struct {
	common, personalities, index array
}

func (s section) header() (h header, err error) {
	if len(s) < headerSize {
		return h, headerError(0, "a header has %d bytes, there are %d", headerSize, len(s))
	}
	if v, _ := s.u32(0); v != version {
		return h, headerError(0, "version %d is not known (1 is)", v)
	}
	arrays := []struct {
		name string
		to   *array
		at   uint64
		size uint64
	}{
		{"common encodings", &h.common, 4, 4},
		{"personalities", &h.personalities, 12, 4},
		{"index", &h.index, 20, indexEntrySize},
	}
	for _, a := range arrays {
		off, _ := s.u32(a.at)
		n, _ := s.u32(a.at + 4)
		if n > 0 && !s.holds(uint64(off), uint64(n), a.size) {
			return h, headerError(a.at, "the %s (%d at offset %#x) do not lie in the section of %d bytes", a.name, n, off, len(s))
		}
		*a.to = array{uint64(off), uint64(n)}
	}
	return h, nil
}
