package stop

import (
	"context"

	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/unwind"
)

// Go returns the stack of a thread of control by Go's tables alone, with at least
// so many frames if it has them. It returns nil if the stack has other code, or is
// cut off.
//
// Delve is not asked for its frames: DelveFrame is right if Delve's stack is the
// same. A client must compare the two, from the innermost frame on, by [Stack.Same], and use
// [Stopped.Whole] if they differ. Limitation: two different chains could have the
// same return addresses for a while, within a recursion where one side has skipped a
// level. Between Go functions neither does.
func (s *Stopped) Go(ctx context.Context, th reading.Thread, frames int) (*Stack, error) {
	key := KeyOf(&th)
	if st, known := s.goStacks[key]; known && (st == nil || st.Holds(frames)) {
		return st, nil
	}
	if !s.InGo(&th) {
		s.goStacks[key] = nil
		return nil, nil
	}
	th.Claims = nil
	st, err := s.assemble(ctx, s.native, th, assembler.Options{}, frames)
	if err != nil {
		return nil, err
	}
	if s.onlyGo(&st.Stack) {
		for i := range st.Frames {
			st.Frames[i].DelveFrame = i
		}
	} else {
		st = nil
	}
	s.goStacks[key] = st
	return st, nil
}

// Same reports whether n frames of Delve's, of which pc returns each one's address, are the stack's
// from start up to end.
func (st *Stack) Same(start, end, n int, pc func(i int) uint64) bool {
	want := st.Frames[min(start, len(st.Frames)):min(end, len(st.Frames))]
	same := len(want) == n
	for i := 0; same && i < n; i++ {
		same = want[i].PC.Raw() == pc(i)
	}
	return same
}

// InGo reports whether a thread of control is in Go code: else its stack need not be walked
// to know that it is not Go's alone.
func (s *Stopped) InGo(th *reading.Thread) bool {
	pc, ok := th.Registers.PC(s.Arch())
	return ok && s.EngineInput().Hosted.Contains(uint64(unwind.Code(pc, th.FirstPC).Lookup(s.Arch())))
}

// onlyGo reports whether a stack is Go's from its innermost frame on, and complete to
// the depth that was asked for.
func (s *Stopped) onlyGo(st *unwind.Stack) bool {
	if st.CutOff() || len(st.Frames) == 0 {
		return false
	}
	for i := range st.Frames {
		if f := &st.Frames[i]; !byGoTables(f) || !s.IsGo(f) {
			return false
		}
	}
	return true
}

// byGoTables reports whether a frame was found by Go's tables alone.
func byGoTables(f *unwind.Frame) bool {
	return (f.Strategy == unwind.StrategyGopclntab || f.Strategy == unwind.StrategyRegisters) && f.Trust >= unwind.TrustCFI && len(f.Rejected) == 0
}
