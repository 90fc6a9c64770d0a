package integration

import (
	"path"
	"strings"
	"testing"
)

// gaps are the stacks where clew is known to fall short, by the names of tests
// (as path.Match has them). Each of them must still fall short, so that no gap
// outlives its cause, and must be free of wrong frames nevertheless.
var gaps = []struct{ tests, why string }{
	{"TestTruth/*-fp*/thread-signal-raise TestTruth/*-omit/thread-signal-raise TestTruth/*-omit-stripped/thread-signal-raise TestSnapshot/*/thread-signal-raise",
		"a handler on a thread's own signal stack (sigaltstack): its stack is not among the thread's, and the walk ends at the signal's trampoline"},
	{"TestTruth/static-O2-omit-notables/thread-int3 TestTruth/static-O2-omit-notables/thread-calling-int3 TestAttach/static-O2-omit-notables-*",
		"code without frame pointers that nothing describes, rbp = 0: taken for the end of the chain (R4) although the function keeps no frame pointer"},
	{"TestSegfault/*", "the walk ends at runtime.sigtramp, which Go's tables mark as outermost, although the signal interrupted C code"},
}

// gapOf returns why clew falls short in this test, "" if it does not.
func gapOf(t testing.TB) string {
	for _, g := range gaps {
		for pattern := range strings.FieldsSeq(g.tests) {
			if ok, err := path.Match(pattern, t.Name()); ok || err != nil {
				return g.why
			}
		}
	}
	return ""
}
