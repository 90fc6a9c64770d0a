package prologue

import (
	"encoding/binary"
	"slices"
)

// Jump tables, as gcc and clang make them: entries relative to a base, which
// mostly is the table, or addresses. Those of arm64 have 1, 2 or 4 bytes and may be scaled by
// the size of an instruction. Where no comparison and no mask bounds the index, as in
// a computed goto, the table ends at the first entry that leads out of the function: what
// such a table reaches is not proven.

// maxEntries bounds a table, maxOpen one whose index has no bound.
const (
	maxEntries = 1 << 14
	maxOpen    = 1 << 10
)

// Surroundings are what a function's code refers to outside of itself.
type Surroundings interface {
	// Data returns n bytes of constant data, nil if they are not known. Pointers in
	// it are as the loaded image has them.
	Data(addr uint64, n int) []byte
	// IsCode reports whether an address is one of code.
	IsCode(addr uint64) bool
	// Labels returns the addresses of the n bytes from start on that data may list as places to jump to.
	Labels(start uint64, n int) []uint64
	// Pads returns the landing pads of the function that begins at an address.
	Pads(start uint64) []Pad
	// Comes tells whether a call of code, by its address or by a pointer there, comes
	// back.
	Comes(target uint64, pointer bool) Back
}

// Pad is a landing pad: a call between two offsets goes on there if it throws.
type Pad struct{ Start, End, At int32 }

// Back tells whether a call comes back.
type Back uint8

// The answers. The zero value is Perhaps.
const (
	Perhaps Back = iota
	Comes
	ComesNot
	// Leaves: a jump there is a return.
	Leaves
)

// jumpTable is a table with a bound.
type jumpTable struct {
	at, base uint64
	n        int32
	size     uint8 // of an entry; those of 8 bytes are addresses
	shift    uint8 // of entries that are relative
	unsigned bool
	open     bool // n is no more than a bound of the work
}

// zeroExtended is part of the size of an entry that a register holds.
const zeroExtended = 1 << 7

// switches are a program's indirect jumps by tables.
type switches struct{ *program }

// table returns the number of a table.
func (p switches) table(t jumpTable) int32 {
	same := func(known jumpTable) bool { known.open = t.open; return known == t }
	if i := slices.IndexFunc(p.tables, same); i >= 0 {
		return int32(i)
	}
	p.tables, p.leads, p.out = append(p.tables, t), append(p.leads, nil), append(p.out, nil)
	return int32(len(p.tables) - 1)
}

// address is the address that a value stands for, if it is a constant.
func (p switches) address(v val) (uint64, bool) {
	switch v.kind {
	case place:
		return p.start + uint64(int64(v.off)), true
	case konst:
		return uint64(int64(v.off)), true
	}
	return 0, false
}

// tableEntry is the value that an [opLoadAt] loads if that is an entry of a table.
func (p switches) tableEntry(s *state, o *op) val {
	if p.around == nil {
		return val{}
	}
	scale, size, signed := uint8(o.mask), uint8(o.mask>>sizeShift), o.mask&signExtends != 0
	if scale == 0 {
		return val{}
	}
	base, index := s.get(o.s), s.get(o.t)
	if o.s == regNone {
		base = val{kind: konst}
	}
	if _, ok := p.address(index); ok && scale == 1 {
		base, index = index, base
	}
	if index.kind == konst { // on one path; others have it bounded, as a rule
		index, _ = index.few()
	}
	at, ok := p.address(base.plus(o.imm))
	open := false
	switch {
	case !ok || size < 4 && !p.a.wide:
		return val{}
	case index.kind == scaled && scale == 1:
		scale = index.reg
	case index.kind != upTo || index.reg < 32:
		open, index.off = true, maxOpen-1
	}
	if scale != size || index.off < 0 || index.off >= maxEntries {
		return val{}
	}
	t := jumpTable{at: at, n: index.off + 1, size: size, open: open}
	if size == 8 {
		return val{kind: aim, off: p.table(t)}
	}
	v := val{kind: entryOf, off: p.table(t), reg: size}
	if !signed {
		v.reg |= zeroExtended
	}
	return v
}

// aimed is the sum of a table's base and an entry that is shifted left.
func (p switches) aimed(from, entry val, shift uint8) val {
	base, ok := p.address(from)
	if !ok || entry.kind != entryOf || p.tables[entry.off].base != 0 {
		return val{}
	}
	t := p.tables[entry.off]
	t.base, t.shift, t.unsigned = base, shift, entry.reg&zeroExtended != 0
	return val{kind: aim, off: p.table(t)}
}

// aimedFar is the sum of a table's base and an entry of 8 bytes (-mcmodel=large), which would be an address by itself.
func (p switches) aimedFar(from, entry val) val {
	base, ok := p.address(from)
	t := p.tables[entry.off]
	if !ok || t.size != 8 || t.base != 0 {
		return val{}
	}
	t.base = base
	return val{kind: aim, off: p.table(t)}
}

// targets returns where an indirect jump leads, as offsets of decoded instructions; ok
// is false if that is not known in full.
func (p switches) targets(s *state) (to []int32, ok bool) {
	ok = true
	switch v := s.regs[regTmp]; v.kind {
	case place:
		if v.off < 0 || int(v.off) >= len(p.code) {
			return nil, false
		}
		to = []int32{v.off}
	case aim:
		if p.leads[v.off] == nil {
			p.leads[v.off], p.out[v.off] = p.readTable(&p.tables[v.off])
		}
		to, ok = p.leads[v.off], !p.tables[v.off].open
	default:
		if s.regs[p.a.sp] != (val{kind: cfaRel, off: p.a.entrySP}) { // else it may leave the function
			to, ok = p.labelled(), false
		}
	}
	for _, off := range to {
		known := len(p.insts)
		if p.index[off] == 0 && p.sealed {
			return nil, false
		}
		if p.index[off] == 0 {
			p.discover(off)
			p.mark(known)
		}
		if p.full || p.index[off] == 0 {
			return nil, false
		}
		if in := &p.insts[p.index[off]-1]; in.flags&flagLeader == 0 {
			in.flags |= flagLeader
			if p.index[off] <= int32(known) {
				p.split(off)
			}
		}
	}
	return to, ok && len(to) > 0
}

// labelled are the places that an indirect jump may lead to which goes by no table here.
func (p switches) labelled() []int32 {
	if p.labels == nil && p.around != nil {
		p.labels = []int32{}
		for _, addr := range p.around.Labels(p.start, len(p.code)) {
			p.labels = append(p.labels, int32(addr-p.start))
		}
	}
	return p.labels
}

// readTable returns the distinct targets inside the code, and those in parts of the function
// that were moved away. A table with an entry that is no address of code is open: a mask
// allows more than there is.
func (p switches) readTable(t *jumpTable) (to []int32, out []uint64) {
	to = []int32{}
	size := int(t.size)
	data := p.data(t, size)
	for ; len(data) >= size; data = data[size:] {
		target := t.base + t.entry(data)<<t.shift
		off := target - p.start
		if off >= uint64(len(p.code)) {
			if t.open = t.open || !p.around.IsCode(target); t.open {
				break
			}
			out = append(out, target)
			continue
		}
		to = append(to, int32(off))
	}
	slices.Sort(to)
	slices.Sort(out)
	return slices.Compact(to), slices.Compact(out)
}

// entry is the first entry of data, extended.
func (t *jumpTable) entry(data []byte) uint64 {
	var word [8]byte
	copy(word[:], data[:t.size])
	v, rest := binary.LittleEndian.Uint64(word[:]), 64-8*t.size
	if t.unsigned {
		return v
	}
	return uint64(int64(v<<rest) >> rest)
}

// data is what a table holds, or may hold if it is open.
func (p switches) data(t *jumpTable, size int) (data []byte) {
	for n := int(t.n); n > 0; n /= 2 {
		if data = p.around.Data(t.at, n*size); data != nil {
			break
		}
		t.open = true
	}
	return data
}

// mark finishes instructions that were decoded after the first pass: targets of
// their branches are leaders, and none of their edges is cut.
func (p switches) mark(known int) {
	for i := known; i < len(p.insts); i++ {
		if t := p.insts[i].target; t >= 0 && p.index[t] != 0 {
			in := &p.insts[p.index[t]-1]
			if in.flags&flagLeader == 0 && int(p.index[t]) <= known {
				p.split(t)
			}
			in.flags |= flagLeader
		}
	}
	p.cut = append(p.cut, make([]bool, len(p.insts)-len(p.cut))...)
}

// split simulates the block around a place again, which is a leader from now on.
func (p switches) split(off int32) {
	for at := off - 1; at >= 0; at-- {
		n := p.index[at]
		if n == 0 || p.insts[n-1].flags&flagLeader == 0 {
			continue
		}
		if k := p.insts[n-1].st; k >= 0 && !p.meta[k].queued {
			p.meta[k].queued = true
			p.queue = append(p.queue, k)
		}
		return
	}
}
