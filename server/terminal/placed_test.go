package terminal

import (
	"testing"

	"github.com/clewdbg/clew/server/delve/breakpoints"
)

// TestPlacedOnce: that a breakpoint was placed is told once for each command, however often its library comes and goes.
func TestPlacedOnce(t *testing.T) {
	s := newEventStream()
	for range 2 {
		s.begin()
		for range 500 {
			s.placed(breakpoints.Change{ID: 1, Verified: true})
			s.placed(breakpoints.Change{ID: 1})
		}
		s.placed(breakpoints.Change{ID: 2, Verified: true})
		if n := len(s.own); n != 2 {
			t.Errorf("%d events for two breakpoints", n)
		}
		for len(s.own) > 0 {
			<-s.own
		}
	}
}
