package damage

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/clewdbg/clew/integration/internal/tablefield"
)

// field is a number in a table.
type field struct {
	tablefield.Field
	scale int64
	cfa   bool // the distance of the CFA from a register, in units of scale
	below int  // the values that there are, 0 for as many as fit
	what  string
}

// plain is a little-endian number.
func plain(off, size int) tablefield.Field { return tablefield.Field{Off: off, Size: size} }

// leb is a LEB128 number.
func leb(off, size int) tablefield.Field { return tablefield.Field{Off: off, Size: size, LEB: true} }

// wrong returns another value for the field. further are distances, in bytes, by which frames
// further out lie above this one's caller.
func (f field) wrong(rng *rand.Rand, was uint64, further []uint64) uint64 {
	mask := uint64(1)<<f.Bits() - 1
	for {
		v := rng.Uint64() & mask
		switch kind := rng.IntN(3); {
		case kind == 0 && f.cfa && len(further) > 0:
			v = was + uint64(int64(further[rng.IntN(len(further))])/f.scale)
		case kind < 2:
			v = was + uint64((rng.Int64N(33)-16)*8/f.scale)
		}
		if v &= mask; f.below > 0 {
			v %= uint64(f.below)
		}
		if v != was {
			return v
		}
	}
}

// uleb returns the field of a ULEB128 number; ok is false at the end of the data.
func uleb(data []byte, at int) (f field, ok bool) {
	for n := 0; at+n < len(data) && n < 4; n++ {
		if data[at+n]&0x80 == 0 {
			return field{Field: leb(at, n+1), scale: 1}, true
		}
	}
	return f, false
}

func u32(data []byte, at int) int {
	if at < 0 || at+4 > len(data) {
		return 0
	}
	return int(binary.LittleEndian.Uint32(data[at:]))
}
