package reading_test

import (
	"context"
	"testing"

	"github.com/clewdbg/clew/server/delve/delvetest"
	"github.com/clewdbg/clew/server/delve/held"
)

// TestGlobalsAfterExit: an editor asks for completions when the program has ended. Found by
// integration/hostile/mutated: Delve reads the registers of a process that is gone, and panics.
func TestGlobalsAfterExit(t *testing.T) {
	s := delvetest.Launch(t, "")
	for range 100 {
		if stop, err := s.Continue(context.Background()); err != nil || stop.Reason == held.StopExited {
			break
		}
	}
	if names, err := s.Globals(); err == nil {
		t.Errorf("%d global variables of a program that has ended", len(names))
	}
}
