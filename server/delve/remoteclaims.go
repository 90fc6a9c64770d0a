package delve

import (
	"github.com/go-delve/delve/service/api"

	"github.com/clewdbg/clew/unwind"
)

// Claims is as [Session.Claims]. The server gives each frame's CFA and frame
// pointer as distances from the end of the goroutine's stack, which are not
// positive, or as addresses, on other stacks (proc.Stackframe.FrameOffset). It
// does not say which frames are inlined calls: those have the address and the CFA
// of the frame after them. Of threads without a goroutine it gives the stack of
// the current one only; of others there are no claims.
func (r *Remote) Claims(th Thread, depth int) ([]unwind.Frame, error) {
	id, high := int64(-1), uint64(0)
	if th.Goroutine != 0 {
		id = int64(th.Goroutine)
		for _, s := range th.Segments {
			if s.Kind == unwind.SegmentGoroutine {
				high = s.High
			}
		}
	} else {
		sel, err := r.Selected()
		if err != nil {
			return nil, err
		}
		if sel.Goroutine != 0 || sel.Thread != th.ID {
			return nil, nil
		}
	}
	frames, err := r.client.Stacktrace(id, depth-1, 0, 0, nil)
	if err != nil {
		return nil, err
	}
	var out []unwind.Frame
	for i := range frames {
		f := &frames[i]
		cfa, fp := uint64(f.FrameOffset), uint64(f.FramePointerOffset)
		if f.FrameOffset <= 0 {
			if high == 0 {
				return out, nil
			}
			cfa, fp = high+cfa, high+fp
		}
		if f.Err != "" && f.PC == 0 {
			continue // no frame, but why there are no more
		}
		kind := unwind.KindReturn
		if i == 0 {
			kind = th.FirstPC
		}
		c := unwind.Frame{
			PC: unwind.Code(f.PC, kind), CFA: cfa, Strategy: unwind.StrategyDelve, DelveFrame: i, Segment: -1,
			File: f.File, Line: f.Line, Inlined: i+1 < len(frames) && sameActivation(f, &frames[i+1]),
		}
		if f.Function != nil {
			c.Function = f.Function.Name()
		}
		c.Registers.Set(r.arch.PC(), f.PC)
		c.Registers.Set(r.arch.FP(), fp)
		out = append(out, c)
	}
	return out, nil
}

func sameActivation(a, b *api.Stackframe) bool {
	return a.PC == b.PC && a.FrameOffset == b.FrameOffset && a.FramePointerOffset == b.FramePointerOffset
}
