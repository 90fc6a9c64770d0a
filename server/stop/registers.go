package stop

import (
	"context"
	"errors"

	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/unwind"
)

// ErrFrameGone says that a frame is not on its stack any more.
var ErrFrameGone = errors.New("the frame is not there any more: ask for the stack again")

// Registers returns all registers that a walk can recover for a frame of a stack,
// and the thread of control. The stack may be from before a write to the
// program.
func (s *Stopped) Registers(ctx context.Context, prepared *engine.Prepared, st *Stack, frame int) (th reading.Thread, regs unwind.Registers, err error) {
	th, again, err := s.allRegisters(ctx, prepared, st, frame)
	if err != nil {
		return th, regs, err
	}
	f := &st.Frames[frame]
	for i := range again {
		if g := &again[i]; !g.Inlined && g.PC == f.PC && g.CFA == f.CFA {
			return th, g.Registers, nil
		}
	}
	return th, regs, ErrFrameGone
}
