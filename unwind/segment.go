package unwind

// SegmentKind is the use of a stack segment.
type SegmentKind uint8

// The kinds of stack segments (R14).
const (
	SegmentThread    SegmentKind = iota // a thread's own stack
	SegmentGoroutine                    // a goroutine's stack, which may be copied when it grows
	SegmentG0                           // the system stack of a Go thread
	SegmentSignal                       // a signal handler's stack
)

var segmentNames = [...]string{"thread", "goroutine", "g0", "signal"}

// String returns the kind's name in snapshots.
func (k SegmentKind) String() string { return nameOf(segmentNames[:], k, "segment") }

// ParseSegmentKind parses the output of [SegmentKind.String].
func ParseSegmentKind(s string) (SegmentKind, error) {
	return parseName[SegmentKind](segmentNames[:], s, "kind of stack segment")
}

// Segment is one stack: memory in [Low, High) that frames of one thread of
// control lie in. SP order holds within a segment only (R14).
type Segment struct {
	Low, High uint64
	Kind      SegmentKind
}

// Contains reports whether addr may be a stack pointer or CFA in the segment.
// High itself may: an empty stack's SP points just past its memory.
func (s Segment) Contains(addr uint64) bool { return addr >= s.Low && addr <= s.High }
