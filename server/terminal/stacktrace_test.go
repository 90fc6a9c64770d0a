package terminal

import (
	"testing"

	"github.com/go-delve/delve/service/api"

	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

// aStack has three frames: Delve's 0, one of C's that only clew knows, and Delve's 1.
func aStack() *stop.Stack {
	s := &stop.Stack{Arch: unwind.AMD64}
	s.Frames = []unwind.Frame{
		{PC: unwind.Code(0x10, unwind.KindInstruction), DelveFrame: 0, Trust: unwind.TrustContext, Segment: 0},
		{PC: unwind.Code(0x20, unwind.KindReturn), DelveFrame: -1, Trust: unwind.TrustFramePointer, CFA: 0x1900, Function: "c\x1bode", Segment: 0},
		{PC: unwind.Code(0x30, unwind.KindReturn), DelveFrame: 1, Trust: unwind.TrustCFI, Segment: -1},
	}
	s.Frames[1].Registers.Set(unwind.AMD64.FP(), 0x1800)
	s.Thread.Segments = []unwind.Segment{{Low: 0x1000, High: 0x2000, Kind: unwind.SegmentGoroutine}}
	s.Stop = unwind.End
	return s
}

func delves(pcs ...uint64) (out []api.Stackframe) {
	for _, pc := range pcs {
		var f api.Stackframe
		f.PC, f.File, f.Line = pc, "main.go", int(pc)
		f.Function = &api.Function{Name_: "main.f"}
		out = append(out, f)
	}
	return out
}

// fake is a server that shows names in short.
func fake() *server { return &server{names: names.StyleShort} }

// TestConvert: frames have clew's words; Delve's stay where clew has none. A control
// character of a name does not reach the terminal.
func TestConvert(t *testing.T) {
	got := fake().convert(aStack(), delves(0x10, 0x30), 50)
	if len(got) != 3 || got[0].Function.Name() != "main.f" || got[2].Line != 0x30 || got[0].Bottom || !got[2].Bottom {
		t.Fatalf("%+v", got)
	}
	own := got[1]
	if own.PC != 0x20 || own.Function.Name() != `c\x1bode`+" [by frame pointer]" || own.File != unknownFile || own.Line != unknownLine {
		t.Errorf("%+v", own)
	}
	if own.FrameOffset != 0x1900-0x2000 || own.FramePointerOffset != 0x1800-0x2000 {
		t.Errorf("offsets %d and %d, which count from the end of the goroutine's stack", own.FrameOffset, own.FramePointerOffset)
	}
	// Where Delve's frame has another address it is not that one.
	if got := fake().convert(aStack(), delves(0x10, 0x31), 50); got[2].Line != unknownLine || got[2].PC != 0x30 {
		t.Errorf("%+v", got[2])
	}
	if got := fake().convert(aStack(), delves(0x10, 0x30), 1); len(got) != 2 || got[1].Bottom {
		t.Errorf("to a depth: %+v", got)
	}
}

// TestTruncated: a stack that is cut off says why, and not where no more was asked for.
func TestTruncated(t *testing.T) {
	s := aStack()
	s.Stop, s.Reason = unwind.Truncated, "no rule\n"
	if got := fake().convert(s, nil, 50); len(got) != 4 || got[3].Err != "truncated: no rule" || got[2].Bottom {
		t.Errorf("%+v", got)
	}
	if got := fake().convert(s, nil, 1); len(got) != 2 {
		t.Errorf("%+v", got)
	}
	s.DepthLimited = true
	if got := fake().convert(s, nil, 50); len(got) != 3 {
		t.Errorf("%+v", got)
	}
}

// TestLeftOutStrategy: a stack without a strategy that failed says so, however it ends; other notes are `clew stack`'s.
func TestLeftOutStrategy(t *testing.T) {
	s := aStack()
	s.Notes = []string{"a note", "tables failed and was left out: no answer\n"}
	for _, stop := range []unwind.StopKind{unwind.End, unwind.Truncated} {
		s.Stop = stop
		got := fake().convert(s, nil, 50)
		if last := got[len(got)-1]; last.Err != "tables failed and was left out: no answer" || (len(got) == 4) != (stop == unwind.End) {
			t.Errorf("%s: %+v", stop, got)
		}
	}
}

func TestSame(t *testing.T) {
	s := aStack()
	failed := delves(0x10, 0x20, 0x30)
	failed[2].Err = "lost"
	for _, c := range []struct {
		known  []api.Stackframe
		frames int
		want   bool
	}{
		{delves(0x10, 0x20, 0x30), 50, true},
		{delves(0x10, 0x20), 2, true},
		{delves(0x10, 0x20), 50, false},
		{delves(0x10, 0x20, 0x31), 50, false},
		{delves(0x10, 0x20, 0x30, 0x40), 50, false},
		{failed, 50, false},
	} {
		if got := same(s, c.known, c.frames); got != c.want {
			t.Errorf("%d frames of %d: %v", c.frames, len(c.known), got)
		}
	}
}

// TestWords: a frame is called what `clew stack` calls it, with a mark if it is uncertain.
func TestWords(t *testing.T) {
	known := api.Location{Function: &api.Function{Name_: "main.f"}}
	for want, c := range map[string]struct {
		loc api.Location
		f   unwind.Frame
	}{
		"main.f":                             {known, unwind.Frame{Trust: unwind.TrustCFI, Image: ""}},
		"ns::f":                              {known, unwind.Frame{Trust: unwind.TrustCFI, Function: "int ns::f<int>(int)", Image: "/bin/f"}},
		"main.f [by frame pointer]":          {known, unwind.Frame{Trust: unwind.TrustFramePointer}},
		"f [scanned: may be wrong]":          {api.Location{}, unwind.Frame{Trust: unwind.TrustScan, Function: "f"}},
		"libc.so+0x10 [by frame pointer]":    {api.Location{}, unwind.Frame{Trust: unwind.TrustFramePointer, Image: "/lib/libc.so", Offset: 0x10}},
		"(nil func) [scanned: may be wrong]": {api.Location{}, unwind.Frame{Trust: unwind.TrustScan}},
	} {
		got := marked(fake().inWords(c.loc, &c.f), c.f.Trust)
		if want[0] == '(' { // Delve's word for no name
			if got.Function == nil || got.Function.Name_ == "" {
				t.Errorf("%+v", got)
			}
			continue
		}
		if got.Function.Name() != want {
			t.Errorf("%q, want %q", got.Function.Name(), want)
		}
	}
	if got := fake().inWords(api.Location{}, &unwind.Frame{Trust: unwind.TrustCFI}); got.Function != nil {
		t.Errorf("a name from nowhere: %q", got.Function.Name())
	}
	if known.Function.Name_ != "main.f" {
		t.Error("Delve's own function was renamed")
	}
}

// TestUserLocation: the user's own code is outside of the runtime's packages, and
// nothing behind a scanned frame counts.
func TestUserLocation(t *testing.T) {
	otherwise := api.Location{PC: 1}
	frame := func(name string, trust unwind.Trust) unwind.Frame {
		return unwind.Frame{PC: unwind.Code(9, unwind.KindReturn), Function: name, Trust: trust, File: "f.go", Line: 3}
	}
	for _, c := range []struct {
		frames []unwind.Frame
		want   string
	}{
		{[]unwind.Frame{frame("runtime.park", unwind.TrustCFI), frame("internal/poll.f", unwind.TrustCFI), frame("main.f", unwind.TrustCFI)}, "main.f"},
		{[]unwind.Frame{frame("malloc", unwind.TrustCFI), frame("iter.Pull", unwind.TrustCFI), frame("main.g", unwind.TrustFramePointer)}, "main.g"},
		{[]unwind.Frame{frame("f", unwind.TrustScan), frame("main.f", unwind.TrustCFI)}, ""},
		{nil, ""},
	} {
		s := &stop.Stack{}
		s.Frames = c.frames
		got := fake().userLocation(s, otherwise)
		if c.want == "" && got.PC != 1 || c.want != "" && (got.Function.Name() != c.want || got.Line != 3) {
			t.Errorf("%+v, want %q", got, c.want)
		}
	}
}
