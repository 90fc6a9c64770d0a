package lsda

import "encoding/binary"

// Site is a piece of a function, as offsets from its start: a call in it that throws goes on at
// Pad, or in the caller if Pad is 0.
type Site struct{ Start, End, Pad uint64 }

// Bounds of a section: call sites that are read, also where no area turns out to be, and how large a
// function may be.
const (
	maxSites  = 1 << 20
	maxOffset = 1 << 24
)

// Encodings of pointers (Linux Standard Base, "DWARF Exception Header Encoding").
const (
	omitted = 0xff
	uleb128 = 0x01
)

// Areas returns the call sites of each area that a section holds.
func Areas(section []byte) (areas [][]Site) {
	left := maxSites
	for at := 0; at < len(section) && left > 0; {
		sites, end := area(section, at, &left)
		if end == 0 {
			at++
			continue
		}
		at = end
		if len(sites) > 0 {
			areas = append(areas, sites)
		}
	}
	return areas
}

// reader reads from an offset on; off is -1 once that was impossible.
type reader struct {
	data []byte
	off  int
}

func (r *reader) byte() byte {
	if r.off < 0 || r.off >= len(r.data) {
		r.off = -1
		return 0
	}
	r.off++
	return r.data[r.off-1]
}

func (r *reader) uleb() uint64 {
	if r.off < 0 {
		return 0
	}
	v, n := binary.Uvarint(r.data[r.off:])
	if n <= 0 || v > maxOffset {
		r.off = -1
		return 0
	}
	r.off += n
	return v
}

// area reads the area at an offset, and returns where its call sites, or its types, end; 0 where
// none begins. Landing pads count from the function's start, call sites are in order and do
// not overlap.
func area(section []byte, at int, left *int) (sites []Site, end int) {
	r := reader{section, at}
	if r.byte() != omitted {
		return nil, 0
	}
	types := 0
	if r.byte() != omitted {
		n := r.uleb()
		types = r.off + int(n)
	}
	if r.byte() != uleb128 {
		return nil, 0
	}
	n := r.uleb()
	end = r.off + int(n)
	if r.off < 0 || end > len(section) || types != 0 && types < end || types > len(section) {
		return nil, 0
	}
	r.data = section[:end]
	for last := uint64(0); r.off >= 0 && r.off < end; {
		*left--
		s := Site{Start: r.uleb()}
		s.End = s.Start + r.uleb()
		s.Pad = r.uleb()
		r.uleb() // what is done there
		if r.off < 0 || s.Start < last || s.End == s.Start || *left < 0 {
			return nil, 0
		}
		last = s.End
		sites = append(sites, s)
	}
	return sites, max(end, types)
}
