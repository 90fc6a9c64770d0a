//go:build linux

package switches

import (
	"path"
	"slices"
	"strings"

	"github.com/clewdbg/clew/unwind"
)

// entry is a C function that runs: see native.c.
type entry struct{ fn, ra, cfa uint64 }

// trail reads the C functions, innermost first.
func (s *stand) trail() (out []entry) {
	s.Helper()
	base := s.symbols["trail"]
	for i := range s.word(base) {
		at := base + 8 + 24*i
		out = append(out, entry{s.word(at), s.word(at + 8), s.word(at + 16)})
	}
	slices.Reverse(out)
	return out
}

// Elements of an expected stack that are no names of functions.
const (
	// recorded is the next function of C on the trail.
	recorded = "C"
	// runtimes are any number of the runtime's functions.
	runtimes = "runtime..."
	// anyFrame is one frame, whatever it is: cgo's stubs, libc's trampoline.
	anyFrame = "*"
)

// Stretches of expected stacks.
var (
	toMain = []string{"main.main", "runtime.main", "runtime.goexit"}
	goToC  = []string{"runtime.asmcgocall", "runtime.cgocall"}
	cToGo  = []string{"_cgoexp_*_rung", "runtime.cgocallbackg1", "runtime.cgocallbackg", "runtime.cgocallbackg?", "runtime.cgocallback", "crosscall2", anyFrame}
)

func join(lists ...[]string) []string { return slices.Concat(lists...) }

func list(names ...string) []string { return names }

// climbed is what lies below the function that rung calls after n rungs; C
// thread's when main is not at its bottom.
func climbed(n int) (out []string) {
	out = append(out, "main.rung")
	for range n + 1 {
		out = join(out, cToGo, list(recorded), goToC, list("main._Cfunc_level", "main.climb", "main.rung"))
	}
	return out[:len(out)-1]
}

// compare says how a stack differs from the expected one, innermost first, ""
// if it does not. reason is part of the stack's reason.
func (s *stand) compare(stack *unwind.Stack, reason string, want []string) string {
	trail := s.trail()
	var frames []unwind.Frame
	for _, f := range stack.Frames {
		if !f.Inlined {
			frames = append(frames, f)
		}
	}
	for i := range frames {
		f := &frames[i]
		// A signal's trampoline, which has no name, was not called.
		at, code := uint64(f.PC.Lookup(s.arch())), s.executable()
		if !code.Contains(at) && (f.Function != "" || !code.Contains(f.PC.Raw())) {
			return "frame outside executable memory: " + f.Function
		}
		for len(want) > 0 && mayMiss(want, f) {
			want = want[1:]
		}
		switch {
		case len(want) > 0 && want[0] == runtimes:
			continue
		case len(want) == 0:
			return "too many frames, from " + f.Function + " on"
		case want[0] == recorded:
			if len(trail) == 0 {
				return "no function is on record for " + f.Function
			}
			e := trail[0]
			trail = trail[1:]
			if pc := f.PC.Raw(); pc < e.fn || pc > e.fn+256 || f.CFA != e.cfa || i+1 == len(frames) || frames[i+1].PC.Raw() != e.ra {
				return "not what was recorded: " + f.Function
			}
		case !matches(want, f):
			return "unexpected " + f.Function + ", not " + want[0]
		}
		want = want[1:]
	}
	for len(want) > 0 && (want[0] == runtimes || strings.HasSuffix(want[0], "?")) {
		want = want[1:]
	}
	switch {
	case len(want) > 0:
		return "missing from " + want[0] + " on"
	case len(trail) > 0:
		return "not every function of C came"
	case stack.Stop != unwind.End:
		return "the stack is truncated"
	case !strings.Contains(stack.Reason, reason):
		return "another end than " + reason
	}
	return ""
}

// mayMiss says that f is not the optional element that comes first.
func mayMiss(want []string, f *unwind.Frame) bool {
	if want[0] == runtimes {
		return !strings.HasPrefix(f.Function, "runtime.") || matches(want[1:], f)
	}
	return strings.HasSuffix(want[0], "?") && !matches(want, f)
}

func matches(want []string, f *unwind.Frame) bool {
	if len(want) == 0 {
		return false
	}
	if want[0] == anyFrame || want[0] == anyFrame+"?" {
		return true
	}
	ok, _ := path.Match(strings.TrimSuffix(want[0], "?"), strings.TrimSuffix(f.Function, ".abi0"))
	return ok && want[0] != recorded
}
