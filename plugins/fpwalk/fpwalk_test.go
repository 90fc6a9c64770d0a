package fpwalk

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/conformance"
	"github.com/clewdbg/clew/unwind/stackasm"
)

func records(tb testing.TB, arch unwind.Arch, n int) conformance.Walk {
	tb.Helper()
	w, err := conformance.FrameRecords(arch, n)
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

func TestConformance(t *testing.T) {
	opts := conformance.Options{Images: unwind.ImageDelta{Arch: unwind.AMD64, OS: "linux",
		Added: []unwind.Image{{ID: 7, Path: "/usr/bin/prog"}, {ID: 3, Path: "/usr/lib/libc.so"}}}}
	for _, arch := range []unwind.Arch{unwind.AMD64, unwind.ARM64} {
		opts.Walks = append(opts.Walks, records(t, arch, 1), records(t, arch, 30))
	}
	body := stop(t, unwind.AMD64, calling(), stackasm.Values{"rip": num(codeBase + 11), "rsp": at("own").Plus(-32), "rbp": at("own"), "r12": num(12)})
	leaf := stop(t, unwind.ARM64, mainStack(), stackasm.Values{"pc": num(assignAt + 4), "sp": at("main").Plus(-16), "x29": at("main"), "x30": num(mainAt + 12)})
	opts.Walks = append(opts.Walks,
		conformance.Walk{Name: "innermost, framed", Request: body.in(function(framed)).request, Callers: twoCallers},
		conformance.Walk{Name: "innermost, leaf", Request: leaf.in(&unwind.FunctionCode{Start: assignAt, Exact: true, Code: assign}).request},
		conformance.Walk{Name: "innermost, unchecked", Request: leaf.in(nil).request, Callers: twoCallers},
	)
	conformance.Run(t, func() unwind.Unwinder { return New() }, opts)
}

// TestR5NoImage: every image covers nothing, and the walk does not mind.
func TestR5NoImage(t *testing.T) {
	reports, err := New().Update(context.Background(), unwind.ImageDelta{Arch: unwind.AMD64, Added: []unwind.Image{{ID: 5}}})
	if err != nil || len(reports) != 1 || reports[0].ID != 5 || len(reports[0].Coverage) != 0 || reports[0].Problem != "" {
		t.Errorf("%+v, %v", reports, err)
	}
	d, err := New().Describe(context.Background())
	if err != nil || !d.Anywhere || !d.WantsCode || d.Name != "fpwalk" || d.Trust != unwind.TrustFramePointer {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := New().Walk(ctx, []unwind.WalkRequest{records(t, unwind.AMD64, 5).Request}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestDeepStack walks 10,000 frames, and allocates for the growing slice of
// steps only: a few times, not once a frame.
func TestDeepStack(t *testing.T) {
	w := records(t, unwind.AMD64, 10_000)
	u, requests := New(), []unwind.WalkRequest{w.Request}
	allocs := testing.AllocsPerRun(3, func() {
		results, err := u.Walk(context.Background(), requests)
		if err != nil || len(results[0].Steps) != 10_000 || results[0].Stop != unwind.StopEnd {
			t.Fatalf("%v: %d steps", err, len(results[0].Steps))
		}
	})
	if allocs > 12 {
		t.Errorf("%v allocations", allocs)
	}
}

// FuzzWalk walks random stacks from random registers: every walk ends, SP
// increases, and steps lie in the segment.
func FuzzWalk(f *testing.F) {
	f.Add([]byte("\x10\x00\x00\x00\xfd\x7f\x00\x00\x00\x01\x40\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x40\x00"), uint64(codeBase),
		uint64(stackBase), uint64(stackBase), uint64(codeBase), framed, uint8(0))
	f.Add(make([]byte, 64), uint64(0), uint64(stackBase), uint64(stackBase+8), uint64(0), []byte(nil), uint8(7))
	f.Add(make([]byte, 64), uint64(assignAt+4), uint64(stackBase), uint64(stackBase+16), uint64(mainAt), assign, uint8(15))
	f.Fuzz(func(t *testing.T, stack []byte, pc, sp, fp, lr uint64, code []byte, flags uint8) {
		if len(code) > 4096 {
			return
		}
		request := unwind.WalkRequest{Arch: unwind.AMD64, Kind: unwind.KindReturn, MaxFrames: 64, AllRegisters: flags&1 != 0,
			Stack: unwind.Windows{{Addr: stackBase, Data: stack}}}
		if flags&2 != 0 {
			request.Arch = unwind.ARM64
			request.Registers.Set(unwind.ARM64LR, lr)
		}
		if flags&4 != 0 {
			request.Kind = unwind.KindInstruction
			request.Function = &unwind.FunctionCode{Start: pc - uint64(flags>>4), Exact: flags&8 != 0, Code: code}
		}
		if flags&16 != 0 {
			request.Segment = unwind.Segment{Low: stackBase, High: stackBase + uint64(len(stack))}
		}
		request.Registers.Set(request.Arch.PC(), pc)
		request.Registers.Set(request.Arch.SP(), sp)
		request.Registers.Set(request.Arch.FP(), fp)
		u := New()
		if _, err := u.Update(context.Background(), unwind.ImageDelta{PACMask: lr &^ (1 << 55)}); err != nil {
			t.Fatal(err)
		}
		results, err := u.Walk(context.Background(), []unwind.WalkRequest{request})
		if err != nil {
			t.Fatal(err)
		}
		for i, step := range results[0].Steps {
			now, _ := step.Caller.SP(request.Arch)
			if now < sp || now == sp && (i > 0 || request.Kind != unwind.KindInstruction) {
				t.Fatalf("step %d: SP %#x after %#x", i, now, sp)
			}
			if request.Segment.High != 0 && !request.Segment.Contains(step.CFA) {
				t.Fatalf("step %d: CFA %#x outside the segment", i, step.CFA)
			}
			if step.Rule == "" || step.Trust == unwind.TrustNone || step.Trust > unwind.TrustFramePointer {
				t.Fatalf("step %d: %+v", i, step)
			}
			sp = now
		}
	})
}

func benchmarkWalk(b *testing.B, frames int) {
	w := records(b, unwind.AMD64, frames)
	u, requests := New(), []unwind.WalkRequest{w.Request}
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		results, err := u.Walk(ctx, requests)
		if err != nil || len(results[0].Steps) != frames {
			b.Fatalf("%v: %d steps", err, len(results[0].Steps))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(frames), "ns/frame")
}

func BenchmarkWalk50(b *testing.B)    { benchmarkWalk(b, 50) }
func BenchmarkWalk10000(b *testing.B) { benchmarkWalk(b, 10_000) }

// BenchmarkChase10000 reads the chain alone, to compare the walk with.
func BenchmarkChase10000(b *testing.B) {
	w := records(b, unwind.AMD64, 10_000)
	c := cursor{windows: w.Request.Stack, order: binary.LittleEndian}
	fp, _ := w.Request.Registers.FP(unwind.AMD64)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for at, ok := fp, true; at != 0 && ok; n++ {
			at, _, ok = c.pair(at)
		}
		if n != 10_000 {
			b.Fatal(n)
		}
	}
}
