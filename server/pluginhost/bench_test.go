package pluginhost

import (
	"context"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/plugin/example/framechain"
)

// windowSize is how much of a stack goes with one request.
const windowSize = 64 << 10

// walkAll walks a stack in windows, as the assembler does, and returns the
// number of steps.
func walkAll(b *testing.B, u unwind.Unwinder, whole unwind.WalkRequest) int {
	b.Helper()
	stack, steps := whole.Stack[0], 0
	request := whole
	for {
		fp, _ := request.Registers.FP(unwind.AMD64)
		from := fp - stack.Addr
		to := min(from+windowSize, uint64(len(stack.Data)))
		request.Stack = unwind.Windows{{Addr: fp, Data: stack.Data[from:to]}}
		results, err := u.Walk(context.Background(), []unwind.WalkRequest{request})
		if err != nil {
			b.Fatal(err)
		}
		n := len(results[0].Steps)
		steps += n
		if results[0].Stop != unwind.StopMemory {
			return steps
		}
		request.Registers = results[0].Steps[n-1].Caller
	}
}

func benchmarkWalk(b *testing.B, u unwind.Unwinder, n int) {
	whole := chain(n)
	if got := walkAll(b, u, whole); got != n {
		b.Fatalf("%d steps of %d", got, n)
	}
	b.ReportAllocs()
	for b.Loop() {
		walkAll(b, u, whole)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/frame")
}

func BenchmarkWalk(b *testing.B) {
	for _, size := range []struct {
		name   string
		frames int
	}{{"50", 50}, {"10000", 10000}} {
		b.Run("process/"+size.name, func(b *testing.B) {
			_, p, _ := newHost(b, nil)
			benchmarkWalk(b, p, size.frames)
		})
		b.Run("inprocess/"+size.name, func(b *testing.B) {
			benchmarkWalk(b, &framechain.Unwinder{}, size.frames)
		})
	}
}

// BenchmarkBatch walks 64 stacks of 20 frames by one call.
func BenchmarkBatch(b *testing.B) {
	_, p, _ := newHost(b, nil)
	requests := make([]unwind.WalkRequest, 64)
	for i := range requests {
		requests[i] = chain(20)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Walk(context.Background(), requests); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		h, err := New(Options{Plugins: []Config{{Name: "fake"}}, SessionParent: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := h.Plugins()[0].Describe(context.Background()); err != nil {
			b.Fatal(err)
		}
		if err := h.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
