package scan

import (
	"context"
	"errors"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/conformance"
)

func TestConformance(t *testing.T) {
	// leaf <- mid <- outer <- pointer, with words of old calls between.
	deep := at(t, midRA, otherRA, 1, 0, outerRA, otherRA, 2, 3, plainAt, 4, pointerRA, 0, 0, 0)
	deep.request.MaxFrames = 10
	saved := at(t, pushesRA, 7, stackBase+64, pointerRA, 0, 0, 0, 0).set(unwind.AMD64RBP, stackBase+64)
	saved.request.MaxFrames = 10
	conformance.Run(t, func() unwind.Unwinder { return New() }, conformance.Options{
		Images: delta64,
		Walks: []conformance.Walk{
			{Name: "deep", Request: deep.request, Callers: []uint64{midRA, outerRA, pointerRA}},
			{Name: "saved registers", Request: saved.request, Callers: []uint64{pushesRA, pointerRA}},
		},
	})
}

func TestDescribe(t *testing.T) {
	d, err := New().Describe(context.Background())
	if err != nil || !d.Anywhere || !d.WantsCode || d.Name != "scan" || d.Trust != unwind.TrustScan || len(d.Sections) != 0 {
		t.Errorf("%+v, %v", d, err)
	}
	reports, err := New().Update(context.Background(), delta64)
	if err != nil || len(reports) != 1 || reports[0].ID != 1 || len(reports[0].Coverage) != 0 {
		t.Errorf("coverage is claimed: %+v, %v", reports, err)
	}
}

// TestImagesGo: what lay in an image that is gone is no return address any more.
func TestImagesGo(t *testing.T) {
	p := New()
	f := at(t, midRA)
	for _, c := range []struct {
		delta unwind.ImageDelta
		steps int
	}{{delta64, 1}, {unwind.ImageDelta{Arch: unwind.AMD64, OS: "linux", Removed: []unwind.ImageID{1}}, 0}} {
		if _, err := p.Update(context.Background(), c.delta); err != nil {
			t.Fatal(err)
		}
		r, err := p.Walk(context.Background(), []unwind.WalkRequest{f.request})
		if err != nil || len(r[0].Steps) != c.steps {
			t.Errorf("%d steps, want %d: %v", len(r[0].Steps), c.steps, err)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := New().Walk(ctx, []unwind.WalkRequest{at(t, midRA).request}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// FuzzWalk scans random stacks with random code and registers: every walk ends,
// SP increases, and a caller lies behind a call.
func FuzzWalk(f *testing.F) {
	f.Add([]byte{9, 0x11, 0x40, 0, 0, 0, 0, 0}, image64[:1024], uint64(leafAt), uint64(stackBase), uint64(stackBase), uint8(0))
	f.Add([]byte{9, 0x11, 0x40, 0, 0, 0, 0, 0}, image64[:1024], uint64(midRA), uint64(stackBase), uint64(8), uint8(0x3f))
	f.Add([]byte{0, 0x1d, 0x40, 0, 0, 0, 0, 0}, image64[0xd00:][:64], uint64(codeBase), uint64(stackBase+8), uint64(1), uint8(0x15))
	f.Fuzz(func(t *testing.T, stack, code []byte, pc, sp, fp uint64, flags uint8) {
		if len(code) > 1024 || len(stack) > 1024 {
			return
		}
		request := unwind.WalkRequest{Arch: unwind.AMD64, MaxFrames: 1 + int(flags>>6)*20, AllRegisters: flags&1 != 0,
			Stack: unwind.Windows{{Addr: stackBase, Data: stack}, {Addr: codeBase, Data: code}}}
		if flags&2 != 0 {
			request.Arch = unwind.ARM64
		}
		if flags&4 != 0 {
			request.Kind = unwind.KindReturn
		}
		if flags&8 != 0 {
			request.Segment = unwind.Segment{Low: stackBase, High: stackBase + uint64(len(stack))}
		}
		if flags&16 != 0 {
			request.Function = &unwind.FunctionCode{Start: pc - uint64(flags>>5), Exact: flags&32 != 0, Code: code[len(code)/2:]}
		}
		request.Registers.Set(request.Arch.PC(), pc)
		request.Registers.Set(request.Arch.SP(), sp)
		request.Registers.Set(request.Arch.FP(), fp)
		p := New()
		if _, err := p.Update(context.Background(), unwind.ImageDelta{Arch: request.Arch, OS: "linux", PACMask: fp &^ (1 << 55),
			Added: []unwind.Image{{ID: 1, Executable: []unwind.Range{{Start: codeBase, End: codeBase + codeSize}}}}}); err != nil {
			t.Fatal(err)
		}
		for range 8 {
			results, err := p.Walk(context.Background(), []unwind.WalkRequest{request})
			if err != nil {
				t.Fatal(err)
			}
			r := results[0]
			before := sp
			for i, step := range r.Steps {
				now, known := step.Caller.SP(request.Arch)
				if !known && request.Arch == unwind.ARM64 && i == len(r.Steps)-1 {
					now = step.CFA // a lower bound (R12)
				}
				ra, _ := step.Caller.PC(request.Arch)
				switch {
				case now <= before:
					t.Fatalf("step %d: SP %#x after %#x", i, now, before)
				case step.Trust != unwind.TrustScan || step.Note == "" || step.Rule == "":
					t.Fatalf("step %d: %+v", i, step)
				case ra-1 < codeBase || ra-1 >= codeBase+codeSize:
					t.Fatalf("step %d: caller %#x outside all code", i, ra)
				}
				before = now
			}
			switch r.Stop {
			case unwind.StopMemory:
				if request.Stack.ReadMemory(r.Need.Start, make([]byte, r.Need.End-r.Need.Start)) == nil {
					t.Fatalf("asks for memory that is there: %#x", r.Need)
				}
				request.Stack = append(request.Stack, unwind.Window{Addr: r.Need.Start})
				continue
			case unwind.StopEnd:
				t.Fatalf("a scan knows no end: %q", r.Reason)
			case unwind.StopNoRule, unwind.StopBroken:
				if r.Reason == "" {
					t.Fatalf("stop %v without a reason", r.Stop)
				}
			}
			return
		}
	})
}

// BenchmarkWalk makes one step: with its frame's size found at once, and with a
// window full of words that point behind calls that cannot lead here.
func BenchmarkWalk(b *testing.B) {
	old := make([]uint64, 160)
	for i := range old {
		old[i] = otherRA
	}
	for name, words := range map[string][]uint64{"found": {midRA}, "refused": old} {
		b.Run(name, func(b *testing.B) {
			f := at(b, words...)
			p := New()
			if _, err := p.Update(context.Background(), delta64); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				r, err := p.Walk(context.Background(), []unwind.WalkRequest{f.request})
				if err != nil || (len(r[0].Steps) == 1) != (name == "found") {
					b.Fatalf("%+v, %v", r, err)
				}
			}
		})
	}
}
