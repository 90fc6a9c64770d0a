package stop

import (
	"context"
	"errors"

	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/unwind"
)

// ErrFrameGone says that a frame is not on its stack any more.
var ErrFrameGone = errors.New("the frame is not there any more: ask for the stack again")

// Registers returns all registers that a walk can recover for a frame of a stack,
// and the thread of control. It is walked again for that, because an ordinary walk
// keeps the few that it needs. The stack may be from before a write to the
// program.
func (s *Stopped) Registers(ctx context.Context, prepared *engine.Prepared, st *Stack, frame int) (th delve.Thread, regs unwind.Registers, err error) {
	if th, err = s.again(st); err != nil {
		return th, regs, err
	}
	Claim(s.View, &th, max(frame+1, leastDepth)) // without them other strategies have to suffice
	again := prepared.Stack(ctx, &th.Thread, assembler.Options{MaxFrames: max(st.depth, len(st.Frames)), AllRegisters: true})
	th.Claims = nil
	f := &st.Frames[frame]
	for i := range again.Frames {
		if g := &again.Frames[i]; !g.Inlined && g.PC == f.PC && g.CFA == f.CFA {
			return th, g.Registers, nil
		}
	}
	return th, regs, ErrFrameGone
}
