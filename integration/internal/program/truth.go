package program

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// Physical leaves the inlined frames out: they have no place on the stack.
func Physical(s *stackjson.Stack) (out []stackjson.Frame) {
	for _, f := range s.Frames {
		if !f.Inlined {
			out = append(out, f)
		}
	}
	return out
}

// Findings collects the faults of a stack.
type Findings []string

// Add adds one.
func (f *Findings) Add(format string, a ...any) { *f = append(*f, fmt.Sprintf(format, a...)) }

// CheckForm holds a stack to what every stack must be: frames numbered, the
// first a PC, every lookup address in an executable mapping.
func (bad *Findings) CheckForm(s *stackjson.Stack, maps []imagemap.Mapping) {
	for i, f := range s.Frames {
		if f.Index != i {
			bad.Add("frame %d has index %d", i, f.Index)
		}
		at := uint64(f.PC)
		if f.Kind == stackjson.KindRA {
			at--
		}
		if !slices.ContainsFunc(maps, func(m imagemap.Mapping) bool { return at >= m.Start && at < m.End && m.Executable() }) {
			bad.Add("WRONG FRAME %d: %v (%s) lies in no executable mapping", i, f.PC, f.Kind)
		}
	}
}

// CheckExact demands exactly the expected stack, and that it ends cleanly.
func (bad *Findings) CheckExact(s *stackjson.Stack, want []Expected) {
	rest := bad.Compare(s, want)
	if len(rest) > 0 {
		bad.Add("%d frames are missing, from %s on", len(rest), rest[0].What)
	}
	if s.Stop != stackjson.StopEnd {
		bad.Add("the stack is not complete: %s: %s", s.Stop, s.Reason)
	}
}

// CheckHonest demands that no frame is wrong, and that a stack which says that
// it is complete is so.
func (bad *Findings) CheckHonest(s *stackjson.Stack, want []Expected) {
	rest := bad.Compare(s, want)
	for len(rest) > 0 && rest[0].Optional {
		rest = rest[1:]
	}
	if len(rest) > 0 && s.Stop != stackjson.StopTruncated {
		bad.Add("the stack claims to be complete (%s) without %d frames, from %s on", s.Reason, len(rest), rest[0].What)
	}
}

// Compare reports every frame that is not the next expected one, and returns
// what did not come. Frames that were scanned for may be wrong, and say so.
// Behind a thread of C's may be one frame more: the last return address on
// record lies in libc's code that starts threads, whose caller is clone.
func (bad *Findings) Compare(s *stackjson.Stack, want []Expected) []Expected {
	frames := Physical(s)
	thread := len(want) > 0 && want[len(want)-1].Callee != nil && want[len(want)-1].Callee.Kind == 'T'
	for i := range frames {
		f := &frames[i]
		for len(want) > 0 && want[0].Optional && !want[0].Matches(f) {
			want = want[1:]
		}
		switch {
		case len(want) > 0 && want[0].Matches(f):
			bad.checkFrame(f, &want[0])
			if c := want[0].Callee; c != nil && i > 0 && frames[i-1].Trust != stackjson.TrustScan && uint64(frames[i-1].CFA) != c.CFA {
				bad.Add("WRONG FRAME %d has CFA %v, the program recorded %#x", frames[i-1].Index, frames[i-1].CFA, c.CFA)
			}
			want = want[1:]
		case f.Trust == stackjson.TrustScan:
			for j := range want { // a scan may miss callers
				if want[j].Matches(f) {
					want = want[j+1:]
					break
				}
			}
		case len(want) == 0 && thread && i == len(frames)-1 && strings.Contains(f.Image, "libc"):
		case len(want) == 0:
			bad.Add("WRONG FRAME %d is too many: %v %s, trust %s", f.Index, f.PC, f.Function, f.Trust)
			return nil
		default:
			bad.Add("WRONG FRAME %d: %v %s, trust %s by %s; expected %s (pc %#x)", f.Index, f.PC, f.Function, f.Trust, f.Strategy, want[0].What, want[0].PC)
			return nil
		}
	}
	return want
}

func (bad *Findings) checkFrame(f *stackjson.Frame, want *Expected) {
	kind := stackjson.KindRA
	if want.Kind == "pc" || f.Index == 0 {
		kind = stackjson.KindPC
	}
	if f.Kind != kind {
		bad.Add("frame %d (%v) has kind %s, want %s", f.Index, f.PC, f.Kind, kind)
	}
}
