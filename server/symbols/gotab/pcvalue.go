package gotab

import "encoding/binary"

// pcvalue finds the value for pc in the delta-encoded table at off of pctab.
// Each step is a zig-zag value delta and a PC delta in instruction units, both
// varints; the value starts at -1 and holds up to the PC after the step; a value
// delta of 0 anywhere but first ends the table (runtime/symtab.go, step).
func (f Func) pcvalue(off uint32, pc uint64) (value int32, ok bool) {
	// An offset of 0 means "no table": pctab starts with a byte of padding.
	if f.t == nil || off == 0 || uint64(off) >= uint64(len(f.t.pctab)) || !f.Contains(pc) {
		return 0, false
	}
	p := f.t.pctab[off:]
	quantum := f.t.quantum
	target := pc - f.Entry
	// Every step covers an instruction, so a function can have no more steps
	// than instructions: the bound keeps a hostile table from costing more.
	steps := (f.End - f.Entry) / quantum
	value = -1
	for at, i := uint64(0), uint64(0); i <= steps; i++ {
		udelta, n := varint(p)
		if n == 0 || udelta == 0 && i > 0 {
			return 0, false
		}
		p = p[n:]
		pcdelta, n := varint(p)
		if n == 0 {
			return 0, false
		}
		p = p[n:]
		if udelta&1 != 0 {
			value += int32(^(udelta >> 1))
		} else {
			value += int32(udelta >> 1)
		}
		at += uint64(pcdelta) * quantum // at most 2^32 steps of 2^34: no overflow
		if target < at {
			return value, true
		}
	}
	return 0, false
}

// varint decodes a 32-bit varint; n is 0 if it is cut off or too long.
func varint(p []byte) (v uint32, n int) {
	long, n := binary.Uvarint(p[:min(len(p), binary.MaxVarintLen32)])
	return uint32(long), max(n, 0)
}
