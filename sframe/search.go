package sframe

import "math/bits"

// search narrows down where a function is in an index that is sorted by address:
// it divides the code into stretches of equal size, about as many as there are
// functions, and knows the functions of each.
type search struct {
	first uint64 // address of the first function
	shift uint8  // of a stretch's size
	// below is, for each stretch, the number of functions that start before it.
	// There is one more for the code behind the last.
	below []uint32
}

// newSearch makes a search of functions, which are sorted.
func newSearch(index []function) (s search) {
	if len(index) == 0 {
		return s
	}
	s.first = index[0].start
	span := index[len(index)-1].start - s.first
	// Twice as many stretches as functions, or fewer.
	s.shift = uint8(max(0, bits.Len64(span)-bits.Len(uint(len(index)))-1))
	s.below = make([]uint32, span>>s.shift+2)
	next := 0
	for i := range index {
		for ; next <= int((index[i].start-s.first)>>s.shift); next++ {
			s.below[next] = uint32(i)
		}
	}
	for ; next < len(s.below); next++ {
		s.below[next] = uint32(len(index))
	}
	return s
}

// between returns the range of functions among which the first one that starts
// behind an address is.
func (s *search) between(addr uint64) (low, high int) {
	stretch := (addr - s.first) >> s.shift
	if addr < s.first || len(s.below) == 0 {
		return 0, 0
	}
	if stretch >= uint64(len(s.below)-1) {
		n := int(s.below[len(s.below)-1])
		return n, n
	}
	return int(s.below[stretch]), int(s.below[stretch+1])
}
