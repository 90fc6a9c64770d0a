package unwind

import (
	"cmp"
	"slices"
	"sort"
)

// Range is [Start, End) in the target's address space.
type Range struct{ Start, End uint64 }

// Contains reports whether addr lies in the range.
func (r Range) Contains(addr uint64) bool { return addr >= r.Start && addr < r.End }

// RangeSet is a sorted set of ranges that neither overlap nor touch. Build one
// with [NewRangeSet].
type RangeSet []Range

// NewRangeSet sorts and joins ranges; empty and inverted ones are left out.
func NewRangeSet(ranges ...Range) RangeSet {
	set := make(RangeSet, 0, len(ranges))
	for _, r := range ranges {
		if r.Start < r.End {
			set = append(set, r)
		}
	}
	slices.SortFunc(set, func(a, b Range) int { return cmp.Compare(a.Start, b.Start) })
	out := set[:0]
	for _, r := range set {
		if n := len(out); n > 0 && r.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, r.End)
			continue
		}
		out = append(out, r)
	}
	return out
}

// Contains reports whether addr lies in one of the ranges.
func (s RangeSet) Contains(addr uint64) bool {
	_, ok := s.Find(addr)
	return ok
}

// Find returns the range that addr lies in.
func (s RangeSet) Find(addr uint64) (Range, bool) {
	i := sort.Search(len(s), func(i int) bool { return s[i].End > addr })
	if i < len(s) && s[i].Start <= addr {
		return s[i], true
	}
	return Range{}, false
}

// Size is the number of bytes in the set.
func (s RangeSet) Size() uint64 {
	var n uint64
	for _, r := range s {
		n += r.End - r.Start
	}
	return n
}

// Union is the set of addresses in s or in t. It may share memory with one of them.
func (s RangeSet) Union(t RangeSet) RangeSet {
	if len(t) == 0 {
		return s
	}
	if len(s) == 0 {
		return t
	}
	all := make([]Range, 0, len(s)+len(t))
	return NewRangeSet(append(append(all, s...), t...)...)
}

// Intersect is the set of addresses in s and in t.
func (s RangeSet) Intersect(t RangeSet) RangeSet {
	var out []Range
	for i, j := 0, 0; i < len(s) && j < len(t); {
		if r := (Range{max(s[i].Start, t[j].Start), min(s[i].End, t[j].End)}); r.Start < r.End {
			out = append(out, r)
		}
		if s[i].End < t[j].End {
			i++
		} else {
			j++
		}
	}
	return RangeSet(out)
}

// Gaps lists the parts of r that are not in the set.
func (s RangeSet) Gaps(r Range) (out []Range) {
	i := sort.Search(len(s), func(i int) bool { return s[i].End > r.Start })
	for ; r.Start < r.End; i++ {
		end := r.End
		if i < len(s) {
			end = min(end, s[i].Start)
		}
		if r.Start < end {
			out = append(out, Range{r.Start, end})
		}
		if i == len(s) {
			break
		}
		r.Start = max(r.Start, s[i].End)
	}
	return out
}
