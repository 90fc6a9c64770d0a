package steps

import (
	"os"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/unwind"
)

// TestEveryInstruction steps through one build with tables alone, in a stripped
// library, and through one with frame pointers alone. With CLEW_STEPS=full it
// does the same as the command.
func TestEveryInstruction(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.CC(t)
	testneed.Tool(t, "strip")
	testneed.Ptrace(t)
	if os.Getenv("CLEW_STEPS") == "full" {
		if ok, err := report(1, "", false); err != nil || !ok {
			t.Error("not right", err)
		}
		return
	}
	for _, c := range []struct{ build, scenario string }{
		{"linked-O2-eh_frame-stripped", "callback"},
		{"static-O2-fp-notables", "plain"},
	} {
		t.Run(c.build+"-"+c.scenario, func(t *testing.T) {
			with, err := tools()
			if err != nil {
				t.Fatal(err)
			}
			p, err := variant(t, c.build).Build(t.TempDir(), with)
			if err != nil {
				t.Fatal(err)
			}
			y, seen, err := stepThrough(p, scenarioNamed(t, c.scenario), 1)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range y.sorted() {
				t.Logf("%d times %s", y.reasons[k].n, y.reasons[k].first)
			}
			t.Logf("%d of %d stacks right", y.right, y.compared)
			if !good(variant(t, c.build), y) {
				t.Error("too few")
			}
			if seen < 5000 || y.compared != seen || y.checked < 2 || y.ways < 2 {
				t.Errorf("%d instructions of C, %d compared, %d recorded addresses, %d in other ways: too few", seen, y.compared, y.checked, y.ways)
			}
		})
	}
}

func variant(t *testing.T, name string) program.Variant {
	t.Helper()
	for _, b := range builds {
		if b.Name == name {
			return b
		}
	}
	t.Fatalf("no build %s", name)
	return program.Variant{}
}

func scenarioNamed(t *testing.T, name string) scenario {
	t.Helper()
	for _, sc := range scenarios {
		if sc.name == name {
			return sc
		}
	}
	t.Fatalf("no scenario %s", name)
	return scenario{}
}

// TestJudge shows that every way to be wrong is noticed.
func TestJudge(t *testing.T) {
	frame := func(pc, sp uint64) unwind.Frame {
		f := unwind.Frame{PC: unwind.Code(pc, unwind.KindReturn), Trust: unwind.TrustCFI}
		f.Registers.Set(unwind.AMD64.SP(), sp)
		return f
	}
	right := []unwind.Frame{frame(1, 1), frame(0x20, 0x200), frame(0x10, 0x300)}
	for name, c := range map[string]struct {
		change                        func(s *unwind.Stack)
		right, truncated, early, high int
	}{
		"right":     {func(*unwind.Stack) {}, 1, 0, 0, 0},
		"truncated": {func(s *unwind.Stack) { s.Frames, s.Stop = s.Frames[:2], unwind.Truncated }, 0, 1, 0, 0},
		"early end": {func(s *unwind.Stack) { s.Frames = s.Frames[:2] }, 0, 0, 1, 1},
		"address":   {func(s *unwind.Stack) { s.Frames[1] = frame(0x21, 0x200) }, 0, 0, 0, 1},
		"SP":        {func(s *unwind.Stack) { s.Frames[2] = frame(0x10, 0x308) }, 0, 0, 0, 1},
		"skipped":   {func(s *unwind.Stack) { s.Frames = append(s.Frames[:1], s.Frames[2]) }, 0, 0, 0, 1},
		"too many":  {func(s *unwind.Stack) { s.Frames = append(s.Frames, frame(0x30, 0x400)) }, 0, 0, 0, 1},
		"scan": {func(s *unwind.Stack) {
			s.Frames[1].PC, s.Frames[1].Trust = unwind.Code(9, unwind.KindReturn), unwind.TrustScan
		}, 0, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			tr := tracer{tally: &tally{}, shadow: calls{stack: []activation{{CFA: 0x300, RA: 0x10}, {CFA: 0x200, RA: 0x20}}}}
			s := unwind.Stack{Frames: append([]unwind.Frame(nil), right...), Stop: unwind.End}
			c.change(&s)
			tr.judge(&s)
			high, scan := tr.tally.wrongFrames()
			if y := tr.tally; y.right != c.right || y.truncated != c.truncated || y.early != c.early || high != c.high {
				t.Errorf("%+v", y)
			}
			if (name == "scan") != (scan == 1) {
				t.Errorf("%d wrong by scan", scan)
			}
		})
	}
}
