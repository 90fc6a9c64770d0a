package steps

import (
	"testing"

	"github.com/go-delve/delve/pkg/astutil"

	"github.com/clewdbg/clew/server/delve/internals"
)

// TestCondition: a return breakpoint has the condition by which Delve recognises a
// step's goroutine or thread.
func TestCondition(t *testing.T) {
	for want, of := range map[string][2]uint64{
		internals.GoroutineCondition + " == 5": {5, 7},
		internals.ThreadCondition + " == 7":    {0, 7},
	} {
		if got := astutil.ExprToString(sameThread(of[0], of[1])); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
