//go:build linux

package switches

import (
	"fmt"
	"strings"

	"github.com/clewdbg/clew/unwind"
)

// show prints a stack for the log of a failed test.
func show(s *unwind.Stack) string {
	var b strings.Builder
	fmt.Fprintf(&b, "thread %d goroutine %d\n", s.Thread, s.Goroutine)
	for i, f := range s.Frames {
		if i >= 40 && i < len(s.Frames)-20 {
			continue
		}
		fmt.Fprintf(&b, "%4d %-13v %-10s %-11v %#-14x cfa=%#-14x %s %s\n", i, f.Trust, f.Strategy, f.PC.Kind(), f.PC.Raw(), f.CFA, f.Function, f.Rule)
		for _, r := range f.Rejected {
			fmt.Fprintf(&b, "       rejected: %s: %s\n", r.Strategy, r.Reason)
		}
	}
	fmt.Fprintf(&b, "%v: %s\n", s.Stop, s.Reason)
	for _, n := range s.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return b.String()
}
