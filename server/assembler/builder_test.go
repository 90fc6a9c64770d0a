package assembler

import (
	"context"
	"slices"
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// descent is a strategy for a stack of depth frames, 16 bytes each, that come
// many at a time.
type descent struct {
	fake
	depth uint64
}

func (d *descent) Walk(_ context.Context, reqs []unwind.WalkRequest) ([]unwind.WalkResult, error) {
	sp, _ := reqs[0].Registers.SP(unwind.AMD64)
	var r unwind.WalkResult
	for at := (sp-sp0)/16 + 1; at <= d.depth; at++ {
		if len(r.Steps) == min(reqs[0].MaxFrames, 1500) {
			return []unwind.WalkResult{r}, nil
		}
		r.Steps = append(r.Steps, step(sp0+16*at, []uint64{midPC, outerPC}[at%2], 0))
	}
	r.Stop, r.Reason = unwind.StopNoRule, "nothing known"
	return []unwind.WalkResult{r}, nil
}

// A sink gets the frames that the stack would hold, in order, while the walk
// never holds many.
func TestSink(t *testing.T) {
	deep := unwind.Segment{Low: cStack.Low, High: cStack.Low + 1<<20, Kind: unwind.SegmentThread}
	for _, depth := range []uint64{0, 1, 1000, keepFrames + sinkFrames - 1, 20_000} {
		for _, limit := range []int{0, 1, 7000} {
			a := with()
			a.Strategies = []Strategy{{Description: unwind.Description{Name: "d", Arches: []unwind.Arch{unwind.AMD64}, Anywhere: true, Trust: unwind.TrustFramePointer},
				Unwinder: &descent{depth: depth}}}
			th := thread(leafPC, sp0, 0, deep)
			claim := unwind.Frame{PC: unwind.Code(midPC, unwind.KindReturn), CFA: sp0 + 16*3, DelveFrame: 1, Inlined: true}
			physical := claim
			physical.Inlined, physical.DelveFrame = false, 2
			th.Claims = []unwind.Frame{claim, physical}
			whole := a.Stack(context.Background(), target(unwind.Windows{}), th, Options{MaxFrames: limit})
			var got []unwind.Frame
			most := 0
			s := a.Stack(context.Background(), target(unwind.Windows{}), th, Options{MaxFrames: limit, Sink: func(frames []unwind.Frame) {
				got = append(got, frames...)
				most = max(most, len(frames))
			}})
			if !slices.EqualFunc(got, whole.Frames, sameFrame) || len(s.Frames) != 0 || s.Stop != whole.Stop || s.Reason != whole.Reason || s.DepthLimited != whole.DepthLimited {
				t.Errorf("depth %d, limit %d: %d frames, want %d; %d are left; %v %q, want %v %q",
					depth, limit, len(got), len(whole.Frames), len(s.Frames), s.Stop, s.Reason, whole.Stop, whole.Reason)
			}
			if most > keepFrames+sinkFrames+1501 {
				t.Errorf("%d frames were held", most)
			}
		}
	}
}

func sameFrame(a, b unwind.Frame) bool {
	return a.PC == b.PC && a.CFA == b.CFA && a.DelveFrame == b.DelveFrame && a.Inlined == b.Inlined
}
