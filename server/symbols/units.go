package symbols

import (
	"debug/dwarf"
	"encoding/binary"
	"math"
)

// Unit types of DWARF 5, section 7.5.1.
const (
	unitType         = 0x02
	unitSkeleton     = 0x04
	unitSplitCompile = 0x05
	unitSplitType    = 0x06
)

// unitEntries returns the offset of each unit's first entry in .debug_info, at
// most maxUnits of them.
//
// debug/dwarf's own way from unit to unit, SkipChildren, is not for files that
// may be corrupt: a varint that breaks off holds it in place for ever, and it
// recurses as deep as entries nest, which can exhaust the stack.
func unitEntries(info []byte, order binary.ByteOrder) (out []dwarf.Offset) {
	for at := uint64(0); uint64(len(info))-at >= 4 && len(out) < maxUnits; {
		// Unit header, DWARF 5 section 7.5.1: length, version, then in version 5
		// the unit type; address size; abbreviation offset.
		length, lengthSize, offsetSize := uint64(order.Uint32(info[at:])), uint64(4), uint64(4)
		if length == math.MaxUint32 && uint64(len(info))-at >= 12 {
			length, lengthSize, offsetSize = order.Uint64(info[at+4:]), 12, 8
		}
		if length < 4 || length > uint64(len(info))-at-lengthSize {
			break
		}
		body := info[at+lengthSize:][:length]
		size := 2 + offsetSize + 1
		if order.Uint16(body) >= 5 {
			size++
			switch body[2] {
			case unitSkeleton, unitSplitCompile:
				size += 8
			case unitType, unitSplitType:
				size += 8 + offsetSize
			}
		}
		if first := at + lengthSize + size; size < length && first <= math.MaxUint32 {
			out = append(out, dwarf.Offset(first))
		}
		at += lengthSize + length
	}
	return out
}
