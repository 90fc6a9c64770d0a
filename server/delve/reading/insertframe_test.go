package reading_test

import (
	"testing"

	"github.com/clewdbg/clew/server/delve/delvetest"
	"github.com/clewdbg/clew/server/delve/reading"
)

// TestInsertFrame: Delve finds a frame that was put where it looks for the stack.
func TestInsertFrame(t *testing.T) {
	s := delvetest.Launch(t, "main.inner")
	th, at := delvetest.Caller(t, s)
	frames, err := s.Claims(th, 3)
	if err != nil {
		t.Fatal(err)
	}
	f := &frames[1]
	inserted, err := s.InsertFrame(&reading.RecoveredFrame{
		Goroutine: th.Goroutine, Thread: th.ID, Registers: f.Registers, Lookup: at.PC - 1, CFA: f.CFA, StackHigh: at.StackHigh,
	})
	if err != nil {
		t.Fatal(err)
	}
	if inserted.Thread != int64(th.Goroutine) || inserted.Index != 0 {
		t.Errorf("%+v", inserted)
	}
	inserted.Release()
	if again, err := s.Claims(th, 3); err != nil || len(again) != len(frames) || again[0].PC != frames[0].PC {
		t.Errorf("afterwards: %+v, %v", again, err)
	}
}
