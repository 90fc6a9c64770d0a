package dwarfline

import (
	"cmp"
	"debug/dwarf"
	"slices"
)

// Function is a function with code of its own, or a copy of one that is inlined into another.
type Function struct {
	Call          // its names; the place is where its code begins
	ID     ID     // tells it from others of the file
	Entry  uint64 // where it is entered
	Ranges []Range
	Inner  []Range // what is inlined there; [Table.FunctionsAt] sets it, for the innermost function
	Listed bool    // values of the unit have lists of locations: they are known from Entry on
}

// ID tells functions and inlined copies of one file apart.
type ID struct{ unit, entry uint64 }

// Range is code from Low up to High, which is not part of it.
type Range struct{ Low, High uint64 }

// Contains says whether the function's code, or the copy's, has an address.
func (f *Function) Contains(addr uint64) bool {
	return slices.ContainsFunc(f.Ranges, func(r Range) bool { return r.Low <= addr && addr < r.High })
}

// FunctionsAt returns the functions that the instruction at addr belongs to: the innermost inlined copy
// first, the function itself last. The place of each but the last is where its code begins, as is that of the last.
func (t *Table) FunctionsAt(addr uint64) (found []Function) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d, f, ok := t.functionAt(addr)
	if !ok {
		return nil
	}
	add := func(off uint64, node int) {
		if fn, ok := d.function(off); ok {
			if len(found) == 0 {
				fn.Inner = f.inner(node)
			}
			found = append(found, fn)
		}
	}
	for i := f.innermost(addr); i >= 0; i = f.nodes[i].parent {
		add(f.nodes[i].off, i)
	}
	add(f.off, -1)
	return found
}

// inner returns where calls are inlined directly into one, or into the function itself (-1).
func (t *tree) inner(node int) (found []Range) {
	for i := range t.nodes {
		if n := &t.nodes[i]; n.parent == node {
			for _, r := range t.ranges[n.begin:n.endRange] {
				found = append(found, Range{r[0], r[1]})
			}
		}
	}
	slices.SortFunc(found, func(a, b Range) int { return cmp.Compare(a.Low, b.Low) })
	return found
}

// function returns the function, or the inlined copy, of an entry; not ok if it has no code.
func (u *unit) function(off uint64) (fn Function, ok bool) {
	e, _, err := u.entryAt(off)
	if err != nil {
		u.t.problem(u, err)
		return fn, false
	}
	before := u.t.rangesRead
	err = u.ranges(&e, func(low, high uint64) { fn.Ranges = append(fn.Ranges, Range{low, high}) })
	u.t.rangesRead = before // this is asked for again and again
	if err != nil || len(fn.Ranges) == 0 {
		return fn, false
	}
	fn.Entry = fn.Ranges[0].Low
	if at, ok := u.entryPC(&e); ok && fn.Contains(at) {
		fn.Entry = at
	}
	lines, _ := u.withLines().lineTable()
	place, _ := lines.find(fn.Entry)
	fn.Call = u.call(off, place, e.tag == dwarf.TagInlinedSubroutine)
	fn.Listed = u.abbrevs.listed
	fn.ID = ID{u.start, off}
	return fn, true
}

// entryPC is where an entry says that its code is entered: an address, or a number that counts
// from where the code begins (DWARF 5, section 2.18).
func (u *unit) entryPC(e *entry) (uint64, bool) {
	v := e.attrs[atEntryPC]
	if v.isAddress() {
		at, err := u.addressOf(v)
		return at, err == nil
	}
	n, ok := v.constant()
	low, hasLow := beginOf(u, e)
	return low + n, ok && hasLow
}

// withLines is the unit that has the line table: of a split unit, the skeleton.
func (u *unit) withLines() *unit {
	if u.skeleton != nil {
		return u.skeleton
	}
	return u
}

// Row is a row of a line table, and the code that it stands for.
type Row struct {
	Addr, End    uint64
	File         string
	Line, Column int
	Statement    bool
	PrologueEnd  bool // arguments are stored here, the compiler says
}

// maxRowsIn bounds the rows that are asked for at once: of the largest functions.
const maxRowsIn = 1 << 18

// RowsIn returns the rows of the code from low up to high, in the order of their addresses. Several may
// begin at the same address: the last of them has the code.
func (t *Table) RowsIn(low, high uint64) (found []Row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for u := range t.unitsAt(low) {
		lines, err := u.lineTable()
		if err != nil {
			t.problem(u, err)
		}
		if found = lines.rowsIn(low, high); len(found) > 0 {
			return found
		}
	}
	return nil
}

// rowsIn returns the rows of the sequence that low lies in.
func (t *lineTable) rowsIn(low, high uint64) (found []Row) {
	if t == nil {
		return nil
	}
	for i := t.before(low); i >= 0 && t.sequences[i].reach > low; i-- {
		s := &t.sequences[i]
		if low >= s.high {
			continue
		}
		rows := t.rows[s.begin:s.end]
		first, _ := slices.BinarySearchFunc(rows, low, func(r row, addr uint64) int { return cmp.Compare(r.addr, addr) })
		if first == len(rows) || rows[first].addr > low {
			first = max(first-1, 0)
		}
		for first > 0 && rows[first-1].addr == rows[first].addr {
			first--
		}
		for j := first; j < len(rows) && rows[j].addr < high && len(found) < maxRowsIn; j++ {
			end := s.high
			if j+1 < len(rows) {
				end = rows[j+1].addr
			}
			found = append(found, t.row(&rows[j], end))
		}
		return found
	}
	return nil
}

func (t *lineTable) row(r *row, end uint64) Row {
	return Row{
		Addr: r.addr, End: end, File: t.file(uint64(r.file)), Line: int(r.line), Column: int(r.column),
		Statement: r.flags&isStatement != 0, PrologueEnd: r.flags&endsPrologue != 0,
	}
}
