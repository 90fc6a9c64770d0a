package main

import (
	"encoding/binary"
	"math/rand/v2"
)

// field is a number in a table.
type field struct {
	off, size int
	uleb      bool // ULEB128, else little-endian
	scale     int64
	cfa       bool // the distance of the CFA from a register, in units of scale
	below     int  // the values that there are, 0 for as many as fit
	what      string
}

func (f field) get(data []byte) (v uint64) {
	for i := f.size - 1; i >= 0; i-- {
		if f.uleb {
			v = v<<7 | uint64(data[f.off+i]&0x7f)
		} else {
			v = v<<8 | uint64(data[f.off+i])
		}
	}
	return v
}

func (f field) bits() int {
	if f.uleb {
		return 7 * f.size
	}
	return 8 * f.size
}

func (f field) put(data []byte, v uint64) {
	for i := range f.size {
		if !f.uleb {
			data[f.off+i] = byte(v >> (8 * i))
			continue
		}
		data[f.off+i] = byte(v >> (7 * i) & 0x7f)
		if i < f.size-1 {
			data[f.off+i] |= 0x80
		}
	}
}

// wrong returns another value for the field. further are distances, in bytes, by which frames
// further out lie above this one's caller.
func (f field) wrong(rng *rand.Rand, was uint64, further []uint64) uint64 {
	mask := uint64(1)<<f.bits() - 1
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
			return field{off: at, size: n + 1, uleb: true, scale: 1}, true
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
