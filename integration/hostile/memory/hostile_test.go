package memory

import (
	"math/rand/v2"
	"testing"

	"github.com/clewdbg/clew/integration/internal/inprocess"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/unwind"
)

func need(t *testing.T) {
	t.Helper()
	testneed.Platform(t, "linux/amd64")
	testneed.CC(t)
	testneed.Tool(t, "strip")
	testneed.Ptrace(t)
}

// TestDamagedStacks overwrites the stack of one program with tables and of one
// with frame pointers, and makes it of shapes that no stack has.
func TestDamagedStacks(t *testing.T) {
	need(t)
	for _, at := range []int{0, 3} {
		b := builds[at]
		t.Run(b.Name, func(t *testing.T) {
			err := onTarget(b, "nested", func(target *target) error {
				for _, plausible := range []bool{false, true} {
					res := target.corrupt(rand.New(rand.NewPCG(7, 7)), 400, plausible)
					share, wrong, frames := res.rate()
					t.Logf("plausible %v: %d complete, %d truncated, %d of %d frames wrong above scan", plausible, res.complete, res.truncated, wrong, frames)
					if share > accepted[plausible] || res.complete < 40 || res.truncated < 40 || res.falseEnd > 8 {
						t.Errorf("plausible %v: %+v", plausible, res)
						for _, k := range res.sorted() {
							t.Logf("%d x %s (%s)", res.causes[k].n, k, res.causes[k].first)
						}
					}
				}
				shapes := target.shapes()
				if len(shapes) < 30 {
					t.Errorf("only %d shapes", len(shapes))
				}
				for _, s := range shapes {
					if w := target.walk(s); w.problem != "" || w.wrong > 0 {
						t.Errorf("%s: %s; %d wrong frames of %d", s.name, w.problem, w.wrong, len(w.stack.Frames))
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestDeepStacks(t *testing.T) {
	need(t)
	if err := allDeep(1_000_000); err != nil {
		t.Error(err)
	}
}

// TestResults shows that wrong frames are counted.
func TestResults(t *testing.T) {
	mk := func(pc, sp uint64, trust unwind.Trust) unwind.Frame {
		f := unwind.Frame{PC: unwind.Code(pc, unwind.KindReturn), Trust: trust}
		f.Registers.Set(unwind.AMD64RSP, sp)
		return f
	}
	tg := &target{truth: []inprocess.Frame{{PC: 1, SP: 8}, {PC: 2, SP: 16}, {PC: 3, SP: 32}}}
	a, b, c := mk(1, 8, unwind.TrustContext), mk(2, 16, unwind.TrustCFI), mk(3, 32, unwind.TrustCFI)
	for name, x := range map[string]struct {
		frames                          []unwind.Frame
		stop                            unwind.StopKind
		complete, truncated, falseEnd   int
		above, wrongCFI, wrongScan, all int
	}{
		"right":           {[]unwind.Frame{a, b, c}, unwind.End, 1, 0, 0, 0, 0, 0, 2},
		"truncated":       {[]unwind.Frame{a, b}, unwind.Truncated, 0, 1, 0, 0, 0, 0, 1},
		"early":           {[]unwind.Frame{a, b}, unwind.End, 0, 0, 1, 0, 0, 0, 1},
		"invented":        {[]unwind.Frame{a, mk(9, 16, unwind.TrustCFI), c}, unwind.Truncated, 0, 1, 0, 1, 2, 0, 2},
		"left out":        {[]unwind.Frame{a, c}, unwind.End, 0, 0, 1, 1, 1, 0, 1},
		"invented, scan":  {[]unwind.Frame{a, mk(9, 16, unwind.TrustScan), c}, unwind.Truncated, 0, 1, 0, 1, 1, 1, 1},
		"only a scan bad": {[]unwind.Frame{a, b, mk(9, 24, unwind.TrustScan)}, unwind.Truncated, 0, 1, 0, 0, 0, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			res := &results{causes: make(map[string]*example)}
			res.judge(tg, &damage{}, &unwind.Stack{Frames: x.frames, Stop: x.stop})
			_, wrong, frames := res.rate()
			if res.complete != x.complete || res.truncated != x.truncated || res.falseEnd != x.falseEnd || res.above != x.above ||
				wrong != x.wrongCFI || res.wrong[unwind.TrustScan] != x.wrongScan || frames != x.all+1 {
				t.Errorf("%+v, %d of %d wrong", res, wrong, frames)
			}
		})
	}
}
