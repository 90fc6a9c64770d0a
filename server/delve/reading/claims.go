package reading

import (
	"fmt"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/delve/targets"
	"github.com/clewdbg/clew/unwind"
)

// Claims returns Delve's frames of a thread or goroutine, at most depth of
// them. A panic in Delve's DWARF code (it does not survive corrupt tables) is
// an error here.
func (s *Reader) Claims(th Thread, depth int) (claims []unwind.Frame, err error) {
	defer func() {
		if r := recover(); r != nil {
			claims, err = nil, fmt.Errorf("this stack is too much for Delve: %v", r)
		}
	}()
	group, unlock, err := s.program.Stopped()
	if err != nil {
		return nil, err
	}
	defer unlock()
	t := group.Selected
	defer s.program.AllowReads(t)()
	var frames []proc.Stackframe
	switch {
	case th.Goroutine != 0:
		g, gerr := proc.FindGoroutine(t, int64(th.Goroutine))
		if gerr != nil {
			return nil, gerr
		}
		frames, err = s.frames(t, g, depth, s.keeping.Load())
		s.stackCache.keep(t, g)
	default:
		thread, ok := t.FindThread(int(th.ID))
		if !ok {
			return nil, fmt.Errorf("thread %d is gone", th.ID)
		}
		frames, err = proc.ThreadStacktrace(t, thread, depth-1)
	}
	if err != nil {
		return nil, err
	}
	a := targets.Arch(t)
	claims = make([]unwind.Frame, 0, len(frames))
	for i := range frames {
		claims = append(claims, claim(a, &frames[i], i, th.FirstPC))
	}
	return claims, nil
}

func claim(a unwind.Arch, fr *proc.Stackframe, index int, first unwind.PCKind) unwind.Frame {
	kind := unwind.KindReturn
	if index == 0 {
		kind = first
	}
	f := unwind.Frame{
		PC: unwind.Code(fr.Current.PC, kind), CFA: uint64(fr.Regs.CFA), Strategy: unwind.StrategyDelve,
		Inlined: fr.Inlined, DelveFrame: index, Segment: -1, File: fr.Call.File, Line: fr.Call.Line,
	}
	if fr.Call.Fn != nil {
		f.Function = fr.Call.Fn.Name
	}
	f.Registers.Set(a.PC(), fr.Current.PC)
	if fr.Regs.Reg(fr.Regs.SPRegNum) != nil {
		f.Registers.Set(a.SP(), fr.Regs.SP())
	}
	if fr.Regs.Reg(fr.Regs.BPRegNum) != nil {
		f.Registers.Set(a.FP(), fr.Regs.BP())
	}
	return f
}
