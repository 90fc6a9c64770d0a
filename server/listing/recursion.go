package listing

import "github.com/clewdbg/clew/unwind"

// Bounds on what counts as a recursion: the most functions in a round, and the fewest
// frames that it is worth leaving out.
const (
	maxRound  = 4
	minFolded = 8
)

// Recursion says how many of the frames from end on repeat the round of functions
// before end, at least [minFolded]; 0 if they do not. Only whole rounds count.
func Recursion(frames []unwind.Frame, end int) (round, more int) {
	for round = 1; round <= min(maxRound, end); round++ {
		n := 0
		for end+n < len(frames) && sameFunction(&frames[end+n], &frames[end+n-round]) {
			n++
		}
		if n -= n % round; n >= minFolded {
			return round, n
		}
	}
	return 0, 0
}

func sameFunction(a, b *unwind.Frame) bool {
	return a.Function != "" && a.Function == b.Function && a.Segment == b.Segment && a.Inlined == b.Inlined
}
