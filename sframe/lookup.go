package sframe

import (
	"iter"

	"github.com/clewdbg/clew/unwind"
)

// find returns the function that an address lies in.
func (t *Table) find(addr uint64) *function {
	low, high := t.search.between(addr)
	for low < high {
		mid := int(uint(low+high) >> 1)
		if t.index[mid].start <= addr {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low == 0 {
		return nil
	}
	if f := &t.index[low-1]; addr-f.start < uint64(f.size) {
		return f
	}
	return nil
}

// Lookup returns the rules for an address, and the kind of answer. The row is
// meaningless where there is a [Hole]. It does not allocate.
func (t *Table) Lookup(addr uint64) (row Row, answer Answer) {
	f := t.find(addr)
	if f == nil {
		return row, Hole
	}
	if f.count == 0 {
		return t.rowless(f)
	}
	at := uint32(addr - f.start)
	from, limit := uint32(0), f.size
	if f.block != 0 {
		from = at / uint32(f.block) * uint32(f.block)
		at -= from
		limit = min(uint32(f.block), f.size-from)
	}
	h := &t.headers[f.header]
	next, n, end := t.stretch(f, at, limit)
	e, end := scan(t.section.Data, next, n, f.width(), h.Big, at, end)
	if e.words == 0 {
		return row, Hole
	}
	row = f.row(h)
	t.rules(h, f, e, &row)
	row.Start, row.End = f.start+uint64(from+e.start), f.start+uint64(from+end)
	if f.bits&bitDoubtful != 0 && t.doubtful(h, f, e, end == limit) {
		return row, Doubtful
	}
	return row, row.answer()
}

// rowless is the answer of a function without rows.
func (t *Table) rowless(f *function) (row Row, answer Answer) {
	h := &t.headers[f.header]
	row = f.row(h)
	row.Start, row.End = f.start, f.end()
	switch {
	case h.Version < 3 || f.bits&bitFlexible != 0:
		return row, Hole
	case f.bits&bitSignal != 0:
		return row, SignalWithoutRule
	}
	row.RA.Kind = Undefined
	return row, Outermost
}

// Find returns the function that an address lies in.
func (t *Table) Find(addr uint64) (Function, bool) {
	if f := t.find(addr); f != nil {
		return f.export(), true
	}
	return Function{}, false
}

// Len is the number of usable functions.
func (t *Table) Len() int { return len(t.index) }

// All yields the usable functions by the start of their code.
func (t *Table) All() iter.Seq[Function] {
	return func(yield func(Function) bool) {
		for i := range t.index {
			if !yield(t.index[i].export()) {
				return
			}
		}
	}
}

// Ranges is the code that the section describes.
func (t *Table) Ranges() unwind.RangeSet {
	set := make(unwind.RangeSet, 0, len(t.index))
	for i := range t.index { // sorted, and none overlaps
		f := &t.index[i]
		start := f.start + uint64(t.first(f))
		switch n := len(set); {
		case start >= f.end():
		case n > 0 && set[n-1].End == start:
			set[n-1].End = f.end()
		default:
			set = append(set, unwind.Range{Start: start, End: f.end()})
		}
	}
	return set
}

// first is the start of a function's first row. Code before it has no rules.
func (t *Table) first(f *function) uint32 {
	if f.count == 0 {
		if _, answer := t.rowless(f); answer == Hole {
			return f.size
		}
		return 0
	}
	e := t.rowAt(f, int(f.rows))
	return min(e.start, f.size)
}

// Rows yields the rows of a function, by ascending address: those of repeated code
// for every block. They are the rows that [Table.Lookup] returns. Each is valid
// until the next: to keep it, copy it.
func (t *Table) Rows(f Function) iter.Seq2[*Row, Answer] {
	return func(yield func(*Row, Answer) bool) {
		if f := t.find(f.Start); f != nil {
			t.rows(f, new(Row), yield)
		}
	}
}

// AllRows yields the rows of all usable functions, as [Table.Rows] does. It
// allocates one row.
func (t *Table) AllRows() iter.Seq2[*Row, Answer] {
	return func(yield func(*Row, Answer) bool) {
		row := new(Row)
		for i := range t.index {
			if !t.rows(&t.index[i], row, yield) {
				return
			}
		}
	}
}

// rows yields a function's rows, each in the place of the one before; more
// reports whether the consumer took all of them.
func (t *Table) rows(f *function, row *Row, yield func(*Row, Answer) bool) (more bool) {
	if f.count == 0 {
		all, answer := t.rowless(f)
		*row = all
		return answer == Hole || yield(row, answer)
	}
	block := f.size
	if f.block != 0 {
		block = uint32(f.block)
	}
	h := &t.headers[f.header]
	data, width, big := t.section.Data, f.width(), h.Big
	*row = f.row(h)
	for from := uint64(0); from < uint64(f.size); from += uint64(block) {
		start, limit := f.start+from, uint32(min(uint64(block), uint64(f.size)-from))
		e := encodedAt(data, int(f.rows), width, big)
		for n := f.count; n > 0 && e.start < limit; n-- {
			end, following := limit, encoded{}
			if n > 1 {
				following = encodedAt(data, e.next(), width, big)
				end = min(limit, following.start)
			}
			t.rules(h, f, e, row)
			row.Start, row.End = start+uint64(e.start), start+uint64(end)
			answer := row.answer()
			if f.bits&bitDoubtful != 0 && t.doubtful(h, f, e, end == limit) {
				answer = Doubtful
			}
			if !yield(row, answer) {
				return false
			}
			e = following
		}
	}
	return true
}
