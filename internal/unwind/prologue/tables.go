package prologue

import (
	"encoding/binary"
	"slices"
)

// Jump tables, as gcc and clang make them: entries of 4 bytes relative to a base, which
// mostly is the table, or addresses. Where no comparison and no mask bounds the index, as in
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
	// Comes tells whether a call of code, by its address or by a pointer there, comes
	// back.
	Comes(target uint64, pointer bool) Back
}

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
	wide     bool // entries are addresses
	open     bool // n is no more than a bound of the work
}

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
	case !ok || size != 4 && size != 8:
		return val{}
	case index.kind == scaled && scale == 1:
		scale = index.reg
	case index.kind != upTo || index.reg < 32:
		open, index.off = true, maxOpen-1
	}
	if scale != size || index.off < 0 || index.off >= maxEntries {
		return val{}
	}
	t := jumpTable{at: at, n: index.off + 1, wide: size == 8, open: open}
	if t.wide {
		return val{kind: aim, off: p.table(t)}
	}
	v := val{kind: entryOf, off: p.table(t)}
	if !signed {
		v.reg = 1
	}
	return v
}

// aimed is the sum of a table's entry and its base.
func (p switches) aimed(x, y val) val {
	if x.kind != entryOf {
		x, y = y, x
	}
	base, ok := p.address(y)
	if !ok || x.kind != entryOf || x.reg != 0 || p.tables[x.off].base != 0 {
		return val{}
	}
	t := p.tables[x.off]
	t.base = base
	return val{kind: aim, off: p.table(t)}
}

// targets returns where an indirect jump leads, as offsets of decoded instructions; ok
// is false if that is not known in full.
func (p switches) targets(v val) (to []int32, ok bool) {
	ok = true
	switch v.kind {
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

// readTable returns the distinct targets inside the code, and those in parts of the function
// that were moved away. A table with an entry that is no address of code is open: a mask
// allows more than there is.
func (p switches) readTable(t *jumpTable) (to []int32, out []uint64) {
	to = []int32{}
	size := 4
	if t.wide {
		size = 8
	}
	data := p.data(t, size)
	for ; len(data) >= size; data = data[size:] {
		var target uint64
		if t.wide {
			target = binary.LittleEndian.Uint64(data)
		} else {
			target = t.base + uint64(int64(int32(binary.LittleEndian.Uint32(data))))
		}
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
