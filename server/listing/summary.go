package listing

import (
	"cmp"
	"maps"
	"slices"

	"github.com/clewdbg/clew/unwind"
)

// Summary counts what goroutines and threads do.
type Summary struct {
	Goroutines, Threads int // Threads are those that were listed, with a goroutine or not
	Truncated           int
	Running             []unwind.Stack // some that are on a processor; with the innermost own frame only
	Longest             *unwind.Stack  // has waited longest, nil where that is not known
	Ours                Ours
	states              map[string]int
	waits               map[uint64]int // by channel
}

// Line is a count with its words.
type Line[T any] struct {
	Of    T
	Count int
}

// mostRunning bounds the stacks in [Summary.Running].
const mostRunning = 4

// Add counts a stack.
func (sum *Summary) Add(s *unwind.Stack) {
	if sum.states == nil {
		sum.states, sum.waits = make(map[string]int), make(map[uint64]int)
	}
	if s.Stop == unwind.Truncated {
		sum.Truncated++
	}
	if s.Thread != 0 {
		sum.Threads++
	}
	if s.Goroutine == 0 {
		return
	}
	sum.Goroutines++
	st := s.State
	if st == nil {
		sum.states["state not known"]++
		return
	}
	sum.states[cmp.Or(st.WaitReason, st.Status)]++
	if st.WaitsOn != 0 {
		sum.waits[st.WaitsOn]++
	}
	if h := sum.Ours.Headline(s); h.Own != nil {
		sum.addOwn(s, h.Own)
	}
}

// addOwn looks at a stack that is in the program's own code.
func (sum *Summary) addOwn(s *unwind.Stack, own *unwind.Frame) {
	st := s.State
	if st.Status == "running" && s.Thread != 0 && len(sum.Running) < mostRunning {
		sum.Running = append(sum.Running, brief(s, own))
	}
	if !st.WaitSince.IsZero() && (sum.Longest == nil || st.WaitSince.Before(sum.Longest.State.WaitSince)) {
		b := brief(s, own)
		sum.Longest = &b
	}
}

// brief is a stack with the innermost frame of the program's own alone.
func brief(s *unwind.Stack, own *unwind.Frame) unwind.Stack {
	out := *s
	out.Frames = []unwind.Frame{*own}
	return out
}

// States are what goroutines do, most frequent first.
func (sum *Summary) States() []Line[string] { return sorted(sum.states) }

// Channels are those that several goroutines wait on, most waited for first.
func (sum *Summary) Channels() []Line[uint64] {
	return slices.DeleteFunc(sorted(sum.waits), func(l Line[uint64]) bool { return l.Count < 2 })
}

func sorted[T cmp.Ordered](counts map[T]int) []Line[T] {
	var out []Line[T]
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, Line[T]{k, counts[k]})
	}
	slices.SortStableFunc(out, func(a, b Line[T]) int { return cmp.Compare(b.Count, a.Count) })
	return out
}
