package program

import (
	"testing"

	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// TestJudge: each way to be wrong is seen.
func TestJudge(t *testing.T) {
	record := []Entry{
		{Kind: 'F', Fn: 0x1000, RA: 0x2010, CFA: 0x7010},
		{Kind: 'F', Fn: 0x2000, RA: 0x3010, CFA: 0x7020},
		{Kind: 'E', Fn: 0x3000, RA: 0x4010, CFA: 0x7030},
	}
	want := Expect(record, []GoNames{{"main.f", "main.maybe?", "main.main"}})
	const truth = 8 // 4 of C, asmcgocall, cgocall, f, main
	good := func() stackjson.Stack {
		s := stackjson.Stack{Stop: stackjson.StopEnd}
		add := func(pc, cfa uint64, name string) {
			s.Frames = append(s.Frames, stackjson.Frame{Index: len(s.Frames), PC: stackjson.Address(pc), CFA: stackjson.Address(cfa),
				Function: name, Kind: stackjson.KindRA, Trust: stackjson.TrustCFI})
		}
		add(0x1001, 0x7010, "")
		add(0x2010, 0x7020, "")
		add(0x3010, 0x7030, "")
		add(0x4010, 0x7040, "")
		add(0x5010, 0x7050, "runtime.asmcgocall")
		add(0x5110, 0x9010, "runtime.cgocall")
		add(0x5210, 0x9020, "main.f")
		add(0x5310, 0x9030, "main.main")
		s.Frames[0].Kind = stackjson.KindPC
		return s
	}
	insert := func(s *stackjson.Stack, at int, f stackjson.Frame) {
		s.Frames = append(s.Frames[:at:at], append([]stackjson.Frame{f}, s.Frames[at:]...)...)
	}
	for _, c := range []struct {
		name               string
		change             func(s *stackjson.Stack)
		kind               Kind
		found, wrong, scan int // scan: wrong ones
	}{
		{"right", func(*stackjson.Stack) {}, Right, truth, 0, 0},
		{"inlined", func(s *stackjson.Stack) { insert(s, 6, stackjson.Frame{Function: "main.inlined", Inlined: true}) }, Right, truth, 0, 0},
		{"optional", func(s *stackjson.Stack) {
			insert(s, 7, stackjson.Frame{Function: "main.maybe", Kind: stackjson.KindRA})
		}, Right, truth, 0, 0},
		{"truncated", func(s *stackjson.Stack) { s.Frames, s.Stop = s.Frames[:3], stackjson.StopTruncated }, Truncated, 3, 0, 0},
		{"no end", func(s *stackjson.Stack) { s.Stop = stackjson.StopTruncated }, Truncated, truth, 0, 0},
		{"short and complete", func(s *stackjson.Stack) { s.Frames = s.Frames[:3] }, Wrong, 3, 0, 0},
		{"invented", func(s *stackjson.Stack) { insert(s, 5, stackjson.Frame{PC: 0}) }, Wrong, truth, 1, 0},
		{"skipped", func(s *stackjson.Stack) { s.Frames = append(s.Frames[:2], s.Frames[3:]...) }, Wrong, truth - 1, 1, 0},
		{"scanned past", func(s *stackjson.Stack) {
			s.Frames = append(s.Frames[:2], s.Frames[3:]...)
			s.Frames[2].Trust = stackjson.TrustScan
		}, Wrong, truth - 1, 1, 1},
		{"twice", func(s *stackjson.Stack) { insert(s, 2, s.Frames[1]) }, Wrong, truth, 1, 0},
		{"too many", func(s *stackjson.Stack) { s.Frames = append(s.Frames, stackjson.Frame{PC: 0x6000}) }, Wrong, truth, 1, 0},
		{"another order", func(s *stackjson.Stack) { s.Frames[1], s.Frames[2] = s.Frames[2], s.Frames[1] }, Wrong, truth - 1, 3, 0}, // and one was reached by a CFA that is not its own
		{"CFA", func(s *stackjson.Stack) { s.Frames[1].CFA++ }, Wrong, truth, 1, 0},
		{"kind", func(s *stackjson.Stack) { s.Frames[1].Kind = stackjson.KindPC }, Wrong, truth, 1, 0},
		{"empty", func(s *stackjson.Stack) { s.Frames, s.Stop = nil, stackjson.StopTruncated }, Truncated, 0, 0, 0},
	} {
		s := good()
		c.change(&s)
		got := Judge(&s, want, Strictness{CFA: true, Kind: true})
		if got.Kind != c.kind || got.Found != c.found || got.Wrong != c.wrong || got.Scan.Wrong != c.scan || got.Truth != truth {
			t.Errorf("%s: %+v, want %s with %d of %d found, %d wrong, %d of these scanned", c.name, got, c.kind, c.found, truth, c.wrong, c.scan)
		}
		if (got.Kind == Right) != (len(got.Reasons) == 0) {
			t.Errorf("%s: %s because of %q", c.name, got.Kind, got.Reasons)
		}
	}
}

// TestAdd: several stops are as good as the worst.
func TestAdd(t *testing.T) {
	for _, c := range []struct{ a, b, want Kind }{
		{Right, Right, Right}, {Right, Truncated, Truncated}, {Truncated, Right, Truncated}, {Wrong, Right, Wrong}, {Truncated, Wrong, Wrong},
	} {
		var s Score
		s.Add(Score{Kind: c.a, Found: 1, Truth: 2, Wrong: 1})
		s.Add(Score{Kind: c.b, Found: 3, Truth: 4})
		if s.Kind != c.want || s.Found != 4 || s.Truth != 6 || s.Wrong != 1 {
			t.Errorf("%s and %s are %+v, want %s", c.a, c.b, s, c.want)
		}
	}
}
