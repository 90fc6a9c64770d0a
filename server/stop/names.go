package stop

import (
	"fmt"
	"path/filepath"

	"github.com/clewdbg/clew/unwind"
)

// Frame is a frame with no more than an address, and the name, place and image
// that belong to it.
func (s *Stopped) Frame(pc unwind.CodeAddr) unwind.Frame {
	stack := unwind.Stack{Frames: []unwind.Frame{{PC: pc, DelveFrame: -1}}}
	if names := s.EngineInput().Names; names != nil {
		names.Name(&stack)
	}
	return stack.Frames[0]
}

// Function is the name of the function that an instruction is in, else its image
// and offset; "" where neither is known.
func (s *Stopped) Function(pc uint64) string {
	in := s.EngineInput()
	if f, ok := in.Target.Code.Function(unwind.Code(pc, unwind.KindInstruction).Lookup(in.Target.Arch)); ok && f.Name != "" {
		return f.Name
	}
	if image, ok := s.Images().Lookup(pc); ok {
		return ImageOffset(image.Path, pc-image.Base)
	}
	return ""
}

// ImageOffset names code that has no name by its image.
func ImageOffset(path string, offset uint64) string {
	return fmt.Sprintf("%s+%#x", filepath.Base(path), offset)
}
