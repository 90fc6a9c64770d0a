package stoptest

import (
	"context"
	"testing"

	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

// TestProgram: the debugger's frames are those that unwinders find, in every
// thread of control.
func TestProgram(t *testing.T) {
	const frames = 20
	p := New(frames)
	at, err := stop.At(context.Background(), p, p, false)
	if err != nil {
		t.Fatal(err)
	}
	prepared, err := at.Prepare(context.Background(), engine.New(Strategies(unwind.TrustFramePointer)))
	if err != nil {
		t.Fatal(err)
	}
	threads, err := at.Threads()
	if err != nil {
		t.Fatal(err)
	}
	parked, err := at.Goroutine(Parked)
	if err != nil {
		t.Fatal(err)
	}
	for _, th := range append(threads, parked) {
		s, err := at.Whole(context.Background(), prepared, th, frames)
		if err != nil {
			t.Fatal(err)
		}
		want := p.DelveFrames(stop.KeyOf(&th))
		if len(s.Frames) != frames || len(want) != frames || s.Stop != unwind.End {
			t.Errorf("%+v: %d frames, the debugger's %d: %s", stop.KeyOf(&th), len(s.Frames), len(want), s.Reason)
			continue
		}
		for i := range want {
			if f := &s.Frames[i]; f.PC.Raw() != want[i].PC.Raw() || f.DelveFrame != i || f.Function == "" {
				t.Errorf("%+v: frame %d: %+v", stop.KeyOf(&th), i, f)
			}
		}
	}
}
