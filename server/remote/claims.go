package remote

import (
	"github.com/go-delve/delve/service/api"

	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/unwind"
)

// Claims is as [reading.Reader.Claims]. The server returns each frame's CFA and frame
// pointer as distances from the end of the goroutine's stack, which are not
// positive, or as addresses, on other stacks (proc.Stackframe.FrameOffset). It
// does not say which frames are inlined calls: those have the address and the CFA
// of the frame after them. Of the threads without a goroutine only the current one
// has claims.
func (p *Program) Claims(th reading.Thread, depth int) ([]unwind.Frame, error) {
	id, high := int64(-1), uint64(0)
	if th.Goroutine != 0 {
		id, high = int64(th.Goroutine), goroutineStackEnd(&th)
	} else if sel, err := p.Selected(); err != nil || sel.Goroutine != 0 || sel.Thread != th.ID {
		return nil, err
	}
	p.checked.Store(false)
	frames, err := p.client.Stacktrace(id, depth-1, 0, 0, nil)
	if err != nil {
		return nil, err
	}
	return claims(p.arch, frames, th.FirstPC, high), nil
}

// claims converts the server's frames; high is the end of the goroutine's stack.
func claims(arch unwind.Arch, frames []api.Stackframe, first unwind.PCKind, high uint64) (out []unwind.Frame) {
	for i := range frames {
		f := &frames[i]
		onGoroutine := f.FrameOffset <= 0
		if onGoroutine && high == 0 {
			break
		}
		if f.Err != "" && f.PC == 0 {
			continue // the reason why there are no more frames
		}
		c := claim(arch, f)
		c.DelveFrame, c.Inlined = i, i+1 < len(frames) && sameActivation(f, &frames[i+1])
		if i == 0 {
			c.PC = unwind.Code(f.PC, first)
		}
		if onGoroutine {
			fp, _ := c.Registers.FP(arch)
			c.CFA += high
			c.Registers.Set(arch.FP(), fp+high)
		}
		out = append(out, c)
	}
	return out
}

// goroutineStackEnd is the end of the goroutine's stack of a thread, 0 if it has none.
func goroutineStackEnd(th *reading.Thread) (high uint64) {
	for _, s := range th.Segments {
		if s.Kind == unwind.SegmentGoroutine {
			high = s.High
		}
	}
	return high
}

func claim(arch unwind.Arch, f *api.Stackframe) unwind.Frame {
	c := unwind.Frame{
		PC: unwind.Code(f.PC, unwind.KindReturn), CFA: uint64(f.FrameOffset), Strategy: unwind.StrategyDelve, Segment: -1,
		File: f.File, Line: f.Line,
	}
	if f.Function != nil {
		c.Function = f.Function.Name()
	}
	c.Registers.Set(arch.PC(), f.PC)
	c.Registers.Set(arch.FP(), uint64(f.FramePointerOffset))
	return c
}

func sameActivation(a, b *api.Stackframe) bool {
	return a.PC == b.PC && a.FrameOffset == b.FrameOffset && a.FramePointerOffset == b.FramePointerOffset
}
