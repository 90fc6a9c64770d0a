package gotab

import "encoding/binary"

// pcvalue finds the value for pc in the delta-encoded table at off of pctab.
// Each step is a zig-zag value delta and a PC delta in instruction units, both
// varints; the value starts at -1 and holds up to the PC after the step; a value
// delta of 0 anywhere but first ends the table (runtime/symtab.go, step).
func (f Func) pcvalue(off uint32, pc uint64) (value int32, ok bool) {
	if !f.Contains(pc) {
		return 0, false
	}
	p, steps := f.pctable(off)
	target := pc - f.Entry
	value = -1
	for at, i := uint64(0), uint64(0); i < steps; i++ {
		delta, pcdelta, n := step(p, i)
		if n == 0 {
			return 0, false
		}
		p = p[n:]
		value += delta
		at += uint64(pcdelta) * f.t.quantum // at most 2^32 steps of 2^34: no overflow
		if target < at {
			return value, true
		}
	}
	return 0, false
}

// pctable is the table at off of pctab, and how many steps it has at most.
func (f Func) pctable(off uint32) (p []byte, steps uint64) {
	// An offset of 0 means "no table": pctab starts with a byte of padding.
	if f.t == nil || off == 0 || uint64(off) >= uint64(len(f.t.pctab)) {
		return nil, 0
	}
	// Every step covers an instruction, so a function can have no more steps
	// than instructions: the bound keeps a hostile table from costing more.
	return f.t.pctab[off:], (f.End-f.Entry)/f.t.quantum + 1
}

// step decodes the i-th step of a table; n is its size, 0 at the table's end.
func step(p []byte, i uint64) (delta int32, pcdelta uint32, n int) {
	udelta, n := varint(p)
	if n == 0 || udelta == 0 && i > 0 {
		return 0, 0, 0
	}
	pcdelta, m := varint(p[n:])
	if m == 0 {
		return 0, 0, 0
	}
	delta = int32(udelta >> 1)
	if udelta&1 != 0 {
		delta = ^delta
	}
	return delta, pcdelta, n + m
}

// varint decodes a 32-bit varint; n is 0 if it is cut off or too long.
func varint(p []byte) (v uint32, n int) {
	if len(p) > 0 && p[0] < 0x80 { // most are
		return uint32(p[0]), 1
	}
	long, n := binary.Uvarint(p[:min(len(p), binary.MaxVarintLen32)])
	return uint32(long), max(n, 0)
}
