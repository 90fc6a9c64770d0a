package dwarfline

import (
	"cmp"
	"iter"
	"slices"
	"sort"
)

// span is a range of addresses, and what has it.
type span struct {
	low, high uint64
	reach     uint64 // the highest end of this span and all before it
	of        uint64 // an offset
}

// spans are ranges, which may overlap, sorted by their start.
type spans struct {
	all    []span
	sorted bool
}

// add adds the range low, high (without high). It reports whether there is room.
func (s *spans) add(low, high, of uint64) bool {
	if len(s.all) == maxSpans {
		return false
	}
	s.all, s.sorted = append(s.all, span{low: low, high: high, of: of}), false
	return true
}

func (s *spans) sort() {
	slices.Reverse(s.all) // what begins together is found from the end
	slices.SortStableFunc(s.all, func(a, b span) int { return cmp.Compare(a.low, b.low) })
	reach := uint64(0)
	for i := range s.all {
		reach = max(reach, s.all[i].high)
		s.all[i].reach = reach
	}
	s.sorted = true
}

// at returns the spans with an address: the one that begins last first, and of
// those that begin together the one that was added first. Where several objects
// bring the same function the linker keeps that of the first, and the others' entries
// have its address too.
func (s *spans) at(addr uint64) iter.Seq[*span] {
	if !s.sorted {
		s.sort()
	}
	return func(yield func(*span) bool) {
		i := sort.Search(len(s.all), func(i int) bool { return s.all[i].low > addr })
		for i--; i >= 0 && s.all[i].reach > addr; i-- {
			if addr < s.all[i].high && !yield(&s.all[i]) {
				return
			}
		}
	}
}
