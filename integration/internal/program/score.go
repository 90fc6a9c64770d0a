package program

import (
	"fmt"

	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// Kind is the verdict on a stack as a whole.
type Kind string

// The kinds, best first.
const (
	// Right: every frame of the truth, in order, nothing else, and a clean end.
	Right Kind = "right"
	// Truncated: every frame shown is the true caller of the frame before it, but
	// the stack stops before its end.
	Truncated Kind = "truncated"
	// Wrong: a frame is shown that is not the true caller of the frame before it
	// (it does not exist, or callers between were skipped), or a stack that lacks
	// frames claims to be complete.
	Wrong Kind = "wrong"
)

// Score counts how a stack, or several, compare with the truth. Frames are
// physical ones: inlined functions have no place on the stack, and are neither
// demanded nor counted.
type Score struct {
	Kind Kind `json:"kind"`
	// Truth is how many frames there are, and Found how many of them are shown.
	Truth int `json:"truth"`
	Found int `json:"found"`
	// Wrong is how many of the shown frames are not the true caller of the frame
	// before.
	Wrong int `json:"wrong"`
	// Scan is the part of all this that frames with the trust "scan" have; what
	// they found was left by everything better.
	Scan struct {
		Found int `json:"found"`
		Wrong int `json:"wrong"`
	} `json:"scan"`
	// Reasons list the faults, the first one first.
	Reasons []string `json:"reasons,omitempty"`
}

// WrongAboveScan is how many frames are wrong that promise more than a scan.
func (s *Score) WrongAboveScan() int { return s.Wrong - s.Scan.Wrong }

// Add puts two scores together: the worse kind, all counts.
func (s *Score) Add(o Score) {
	if s.Kind == "" || o.Kind == Wrong || s.Kind == Right {
		s.Kind = o.Kind
	}
	s.Truth += o.Truth
	s.Found += o.Found
	s.Wrong += o.Wrong
	s.Scan.Found += o.Scan.Found
	s.Scan.Wrong += o.Scan.Wrong
	s.Reasons = append(s.Reasons, o.Reasons...)
}

// Strictness is the demand beyond the program counters, of a debugger that
// shows it.
type Strictness struct {
	CFA  bool // the canonical frame address of every frame whose program recorded it
	Kind bool // whether the address is an instruction's or a return address
	// MayLack says that a frame may have no CFA: on arm64 it may be unknown without tables (R12).
	MayLack bool
}

// Judge holds a stack against the truth. Frames are matched with the truth so
// that as many as possible match, in order.
func Judge(s *stackjson.Stack, want []Expected, strict Strictness) (score Score) {
	frames := Physical(s)
	matched := align(frames, want)
	complain := func(format string, a ...any) { score.Reasons = append(score.Reasons, fmt.Sprintf(format, a...)) }
	next := 0 // of the truth
	for i := range frames {
		f := &frames[i]
		scan := f.Trust == stackjson.TrustScan
		at := matched[i]
		problem := strict.problem(frames, i, want, next, at)
		if at >= 0 {
			next = at + 1
			if !want[at].Optional {
				score.Found++
				if scan {
					score.Scan.Found++
				}
			}
		}
		if problem != "" {
			score.Wrong++
			if scan {
				score.Scan.Wrong++
			}
			complain("frame %d %v %s (trust %s by %s) %s", f.Index, f.PC, f.Function, f.Trust, f.Strategy, problem)
		}
	}
	rest := missing(want, next, len(want))
	score.Truth = len(missing(want, 0, len(want)))
	switch {
	case score.Wrong > 0:
		score.Kind = Wrong
	case len(rest) > 0 && s.Stop == stackjson.StopEnd:
		score.Kind = Wrong
		complain("claims to be complete without %d frames, from %s on", len(rest), rest[0].What)
	case len(rest) > 0 || s.Stop != stackjson.StopEnd:
		score.Kind = Truncated
		complain("%d frames are missing; %s: %s", len(rest), s.Stop, s.Reason)
	default:
		score.Kind = Right
	}
	return score
}

// problem is the fault of frame i, which matches want[at] (-1: nothing), where
// want[next] comes next; "" for none.
func (s Strictness) problem(frames []stackjson.Frame, i int, want []Expected, next, at int) string {
	if at < 0 {
		return "does not exist"
	}
	if skipped := missing(want, next, at); len(skipped) > 0 {
		return fmt.Sprintf("skips %d frames, the first is %s", len(skipped), skipped[0].What)
	}
	if callee := want[at].Callee; s.CFA && callee != nil && callee.CFA != 0 && i > 0 && (frames[i-1].CFA != 0 || !s.MayLack) && uint64(frames[i-1].CFA) != callee.CFA {
		return fmt.Sprintf("was reached by CFA %v, the program recorded %#x", frames[i-1].CFA, callee.CFA)
	}
	if kind := want[at].wantedKind(i); s.Kind && frames[i].Kind != kind {
		return fmt.Sprintf("has kind %s, want %s", frames[i].Kind, kind)
	}
	return ""
}

// wantedKind is the kind of address that frame i has to have.
func (e *Expected) wantedKind(i int) stackjson.Kind {
	if e.Kind == "pc" || i == 0 {
		return stackjson.KindPC
	}
	return stackjson.KindRA
}

// missing lists what must come in want[from:to].
func missing(want []Expected, from, to int) (list []Expected) {
	for i := from; i < to; i++ {
		if !want[i].Optional {
			list = append(list, want[i])
		}
	}
	return list
}

// align returns for every frame the index of what it matches in want, or -1: a
// longest common subsequence, the earliest of those.
func align(frames []stackjson.Frame, want []Expected) []int {
	// best[i][j] is how many of frames[i:] match in want[j:].
	best := make([][]int, len(frames)+1)
	for i := range best {
		best[i] = make([]int, len(want)+1)
	}
	for i := len(frames) - 1; i >= 0; i-- {
		for j := len(want) - 1; j >= 0; j-- {
			best[i][j] = max(best[i+1][j], best[i][j+1])
			if want[j].Matches(&frames[i]) {
				best[i][j] = max(best[i][j], best[i+1][j+1]+1)
			}
		}
	}
	matched := make([]int, len(frames))
	for i, j := 0, 0; i < len(frames); i++ {
		matched[i] = -1
		for k := j; k < len(want); k++ {
			if want[k].Matches(&frames[i]) && best[i][j] == best[i+1][k+1]+1 {
				matched[i], j = k, k+1
				break
			}
		}
	}
	return matched
}
