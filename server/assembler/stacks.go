package assembler

import (
	"slices"

	"github.com/clewdbg/clew/unwind"
)

// stacks are the segments that a thread's frames can lie on, with the walk's
// progress on each (R3, R14).
type stacks struct {
	segments []unwind.Segment
	// floors holds, by segment, the address that the next CFA must be above; the
	// last element is for a stack whose segments are unknown.
	floors []uint64
	below  bool // the walk has begun right below a stack that has overflown
}

// newStacks starts a walk at sp. located is false where segments are known and sp
// lies in none of them, nor right below one.
func newStacks(segments []unwind.Segment, sp uint64) (s stacks, located bool) {
	s = stacks{segments: segments, floors: make([]uint64, len(segments)+1)}
	if len(segments) > 0 && s.index(sp) < 0 {
		below := s.overflown(sp)
		if below == nil {
			return s, false
		}
		s.add(*below)
		s.below = true
	}
	s.floors[max(s.index(sp), 0)] = sp
	return s, true
}

// index returns the smallest segment that addr lies in, -1 for none. (A g0 stack
// may lie within the mapping of its thread's stack.)
func (s *stacks) index(addr uint64) int {
	best := -1
	for i, seg := range s.segments {
		if seg.Contains(addr) && (best < 0 || seg.High-seg.Low < s.segments[best].High-s.segments[best].Low) {
			best = i
		}
	}
	return best
}

// segment returns the bounds of the stack that addr lies on, zero if unknown.
func (s *stacks) segment(addr uint64) unwind.Segment {
	if i := s.index(addr); i >= 0 {
		return s.segments[i]
	}
	return unwind.Segment{}
}

// floor is the address that a CFA on a segment must be above.
func (s *stacks) floor(segment int) uint64 {
	switch {
	case len(s.segments) == 0:
		return s.floors[0]
	case segment < 0:
		return 0
	}
	return s.floors[segment]
}

// reach records that the walk has reached sp, and returns the segment's index. A
// segment that the step found is added; the thread's list does not change.
func (s *stacks) reach(sp uint64, found *unwind.Segment) int {
	if found != nil {
		s.add(*found)
	}
	at := s.index(sp)
	s.floors[max(at, 0)] = sp
	return at
}

// add adds a stack, or extends one downwards.
func (s *stacks) add(found unwind.Segment) {
	s.segments = slices.Clone(s.segments)
	for i, seg := range s.segments {
		if seg.High == found.High && seg.Kind == found.Kind && found.Low < seg.Low {
			s.segments[i].Low = found.Low
			return
		}
	}
	s.segments = append(s.segments, found)
	s.floors = append(s.floors, 0)
}

// nearGoroutineTop is how far below the top of a goroutine's stack the return
// address into goexit may be, in bytes (runtime.newproc1 keeps a few words above).
const nearGoroutineTop = 256

// belowTop reports whether a stack pointer is not at the top of its goroutine's
// stack.
func (s *stacks) belowTop(sp uint64) bool {
	i := s.index(sp)
	return i >= 0 && s.segments[i].Kind != unwind.SegmentThread && s.segments[i].High-sp > nearGoroutineTop
}

// discover makes a stack of the writable mapping around addr, nil without one: a
// signal may have interrupted code on any stack.
func (t *Target) discover(addr uint64) *unwind.Segment {
	r, ok := t.Writable.Find(addr)
	if !ok {
		return nil
	}
	return &unwind.Segment{Low: r.Start, High: r.End, Kind: unwind.SegmentThread}
}

// guardGap is how far below a stack the kernel lets it grow no further (Linux,
// Documentation/admin-guide/kernel-parameters, stack_guard_gap), in bytes.
const guardGap = 1 << 20

// overflown is the stack that addr lies right below, extended to there, nil for none: code
// was interrupted that had moved its stack pointer beyond the stack's end.
func (s *stacks) overflown(addr uint64) *unwind.Segment {
	var near *unwind.Segment
	for i := range s.segments {
		seg := &s.segments[i]
		if addr < seg.Low && seg.Low-addr <= guardGap && (near == nil || seg.Low < near.Low) {
			near = seg
		}
	}
	if near == nil {
		return nil
	}
	extended := *near
	extended.Low = addr
	return &extended
}

// leftGoroutine reports whether a frame lies on another stack than a
// goroutine's. Behind mcall's and morestack's calls it always does.
func (s *stacks) leftGoroutine(th *unwind.Thread, f *unwind.Frame) (left, known bool) {
	if th.Saved == nil {
		return f.PC.Kind() == unwind.KindReturn, f.PC.Kind() == unwind.KindReturn
	}
	return f.Segment < 0 || s.segments[f.Segment].Kind != unwind.SegmentGoroutine, true
}
