package stop

import "github.com/clewdbg/clew/unwind"

// Frame is a frame with no more than an address, and the name, place and image
// that belong to it: of an inlined function, if one is there.
func (s *Stopped) Frame(pc unwind.CodeAddr) unwind.Frame {
	stack := unwind.Stack{Frames: []unwind.Frame{{PC: pc, DelveFrame: -1}}}
	if names := s.EngineInput().Names; names != nil {
		names.Name(&stack)
	}
	return stack.Frames[0]
}

// IsGo reports whether a frame's code is Go's, which Delve describes as clew does.
func (s *Stopped) IsGo(f *unwind.Frame) bool {
	return s.EngineInput().Hosted.Contains(uint64(f.PC.Lookup(s.Arch())))
}
