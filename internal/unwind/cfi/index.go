package cfi

import (
	"iter"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/clewdbg/clew/unwind"
)

type builtFlag = atomic.Bool

// index finds FDEs by address: pieces of code that do not overlap, sorted, in
// flat arrays. A FDE has more than one piece only where another lies within it.
type index struct {
	starts []uint64
	pieces []piece
	fdes   []indexed
	cies   []*cie
}

type piece struct {
	end uint64
	fde uint32
}

// indexed is an FDE without what can be had from its CIE.
type indexed struct {
	start, end uint64
	off        uint32
	instr      uint32
	stop       uint32
	cie        uint32
}

// fde returns an FDE of the index.
func (x *index) fde(i uint32) FDE {
	f := &x.fdes[i]
	return FDE{Start: f.start, End: f.end, Offset: uint64(f.off), cie: x.cies[f.cie], instr: int(f.instr), end: int(f.stop)}
}

// Find returns the FDE that counts for an address. Before the index is built it
// asks the table of .eh_frame_hdr, if that is good.
func (t *Table) Find(addr uint64) (FDE, bool) {
	if !t.built.Load() && t.header.count > 0 {
		if f, ok := t.findByHeader(addr); ok {
			return f, true
		}
	}
	t.build()
	x := &t.index
	i := sort.Search(len(x.starts), func(i int) bool { return x.starts[i] > addr }) - 1
	if i < 0 || addr >= x.pieces[i].end {
		return FDE{}, false
	}
	return x.fde(x.pieces[i].fde), true
}

// Ranges is the code that the section has rules for. It builds the index.
func (t *Table) Ranges() unwind.RangeSet {
	t.build()
	set := make(unwind.RangeSet, 0, len(t.index.starts))
	for i, start := range t.index.starts { // sorted already
		end := t.index.pieces[i].end
		if n := len(set); n > 0 && set[n-1].End == start {
			set[n-1].End = end
			continue
		}
		set = append(set, unwind.Range{Start: start, End: end})
	}
	return set
}

// Len is the number of usable FDEs. It builds the index.
func (t *Table) Len() int {
	t.build()
	return len(t.index.fdes)
}

// All yields the usable FDEs by the start of their code. It builds the index.
func (t *Table) All() iter.Seq[FDE] {
	return func(yield func(FDE) bool) {
		t.build()
		for i := range t.index.fdes {
			if !yield(t.index.fde(uint32(i))) {
				return
			}
		}
	}
}

// Pieces yields the code that usable FDEs describe, by ascending address, with the
// FDE that counts there: where they overlap, an FDE comes with the part that it
// counts for, or in several parts. It builds the index.
func (t *Table) Pieces() iter.Seq2[unwind.Range, FDE] {
	return func(yield func(unwind.Range, FDE) bool) {
		t.build()
		x := &t.index
		for i, start := range x.starts {
			if !yield(unwind.Range{Start: start, End: x.pieces[i].end}, x.fde(x.pieces[i].fde)) {
				return
			}
		}
	}
}

// build builds the index once.
func (t *Table) build() {
	t.once.Do(func() {
		b := builder{t: t, cies: map[int]ciePlace{}}
		b.scan()
		b.flatten()
		t.built.Store(true)
	})
}

type ciePlace struct {
	index uint32
	err   *Error
}

// builder collects FDEs.
type builder struct {
	t    *Table
	cies map[int]ciePlace
	m    machine
}

// scan reads entry after entry. The entries have no other order than their
// lengths: where one is damaged, those behind it are found by the table of
// .eh_frame_hdr or not at all.
func (b *builder) scan() {
	t := b.t
	for off := 0; off < len(t.section.Data); {
		e, err := t.entryAt(off)
		switch {
		case err != nil:
			b.rest(off, err)
			return
		case e.kind == entryEnd && t.section.Kind == EHFrame:
			b.rest(e.end, nil)
			return
		case e.kind == entryFDE:
			b.add(&e)
		}
		off = e.end
	}
}

// rest adds the FDEs from an offset on that the header's table knows. err says
// why the scan ended there; nil if by a zero terminator.
func (b *builder) rest(off int, err *Error) {
	t := b.t
	var offsets []int
	for i := range t.header.count {
		if _, at := t.header.entry(i); at-t.section.Addr >= uint64(off) && at-t.section.Addr < uint64(len(t.section.Data)) {
			offsets = append(offsets, int(at-t.section.Addr))
		}
	}
	slices.Sort(offsets)
	end := off
	for _, at := range offsets {
		if at < end {
			continue // entries do not overlap
		}
		if e, err := t.entryAt(at); err == nil && e.kind == entryFDE {
			b.add(&e)
			end = e.end
		}
	}
	// Bytes that follow the section are no problem of the section's: without a
	// terminator the header's table tells that nothing is missing.
	if err != nil && (!t.opts.OpenEnded || len(t.index.fdes) < t.header.count || t.header.count == 0) {
		t.problems.add(err)
	}
}

// cie returns the CIE at an offset, which is decoded once.
func (b *builder) cie(off int) ciePlace {
	place, ok := b.cies[off]
	if !ok {
		c, err := b.t.parseCIE(off)
		place = ciePlace{uint32(len(b.t.index.cies)), err}
		if err == nil {
			b.t.index.cies = append(b.t.index.cies, c)
		}
		b.cies[off] = place
	}
	return place
}

// add adds an FDE if it can be used.
func (b *builder) add(e *entry) {
	t := b.t
	place := b.cie(e.cie)
	if place.err != nil {
		t.problems.add(t.errorf(uint64(e.off), "FDE: its %v", place.err))
		return
	}
	f, live, err := t.parseFDE(e, t.index.cies[place.index])
	if err == nil && live {
		if err = t.verify(&b.m, &f); err == nil && !t.admits(&f) {
			err = t.errorf(f.Offset, "FDE: [%#x, %#x) lies outside the image's code", f.Start, f.End)
		}
	}
	switch {
	case err != nil:
		t.problems.add(err)
	case live:
		t.index.fdes = append(t.index.fdes, indexed{start: f.Start, end: f.End, off: uint32(e.off),
			instr: uint32(f.instr), stop: uint32(f.end), cie: place.index})
	}
}

// admits says whether an FDE's code is code that the section may describe.
func (t *Table) admits(f *FDE) bool {
	if len(t.opts.Code) == 0 {
		return true
	}
	code, ok := t.opts.Code.Find(f.Start)
	return ok && f.End <= code.End
}

// flatten makes pieces that do not overlap of the FDEs. The FDE that starts
// last counts, and of several with the same start the first in the section: so
// a stack of those open at an address has on top the one that counts.
func (b *builder) flatten() {
	x := &b.t.index
	slices.SortFunc(x.fdes, func(a, b indexed) int {
		switch {
		case a.start != b.start:
			if a.start < b.start {
				return -1
			}
			return 1
		case a.off > b.off: // the first in the section comes last: on top
			return -1
		case a.off < b.off:
			return 1
		}
		return 0
	})
	x.starts = make([]uint64, 0, len(x.fdes))
	x.pieces = make([]piece, 0, len(x.fdes))
	var open []uint32
	// emit gives the code from one address to another to the FDEs on the stack.
	emit := func(from, to uint64) {
		for len(open) > 0 && from < to {
			top := open[len(open)-1]
			end := min(x.fdes[top].end, to)
			if end > from {
				if n := len(x.pieces); n > 0 && x.pieces[n-1].fde == top && x.pieces[n-1].end == from {
					x.pieces[n-1].end = end
				} else {
					x.starts = append(x.starts, from)
					x.pieces = append(x.pieces, piece{end, top})
				}
				from = end
			}
			if x.fdes[top].end <= to {
				open = open[:len(open)-1]
			}
		}
	}
	var at uint64
	for i := range x.fdes {
		start := x.fdes[i].start
		emit(at, start)
		at = start
		// The FDE of a signal's trampoline may begin a byte early, so that the lookup
		// of a return address finds it.
		if n := len(open); n > 0 && x.fdes[open[n-1]].end > start+1 {
			b.t.problems.add(b.t.errorf(uint64(x.fdes[i].off), "FDE: [%#x, %#x) overlaps that at %#x",
				start, x.fdes[i].end, x.fdes[open[n-1]].off))
		}
		open = append(open, uint32(i))
	}
	emit(at, ^uint64(0))
}
