package stop

import (
	"context"
	"errors"

	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/values"
	"github.com/clewdbg/clew/unwind"
)

// Writer is a [Debugger] that can change the program.
type Writer interface {
	WriteMemory(addr uint64, data []byte) error
	// SetRegister sets a register of a thread by DWARF's number.
	SetRegister(thread, reg uint64, data []byte) error
}

// Vectors is a [Debugger] that knows registers that stacks are not found by.
type Vectors interface {
	// Vector returns a register of a thread by DWARF's number.
	Vector(thread, reg uint64) ([]byte, bool)
}

// ErrNoCode says that the program's code is not known here.
var ErrNoCode = errors.New("the program's images are not known here")

// Values returns a stack's frames for what they hold: with all registers that a walk can recover, each bound
// to this stop.
func (s *Stopped) Values(ctx context.Context, prepared *engine.Prepared, st *Stack) (*values.Stack, error) {
	if known := s.values[st]; known != nil {
		return known, nil
	}
	code, ok := s.EngineInput().Target.Code.(*codemap.Map)
	if !ok {
		return nil, ErrNoCode
	}
	th, again, err := s.allRegisters(ctx, prepared, st, len(st.Frames))
	if err != nil {
		return nil, err
	}
	frames := withRegisters(st.Frames, again)
	from := values.Source{Arch: s.Arch(), Code: code, Memory: s.EngineInput().Target.Memory}
	if w, ok := s.Debugger.(Writer); ok {
		from.Write = w.WriteMemory
		from.SetRegister = func(reg uint64, data []byte) error { return w.SetRegister(th.ID, reg, data) }
	}
	if v, ok := s.Debugger.(Vectors); ok && th.ID != 0 {
		from.Vector = func(reg uint64) ([]byte, bool) { return v.Vector(th.ID, reg) }
	}
	out := values.New(from, frames)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if s.values == nil {
		s.values = make(map[*Stack]*values.Stack)
	}
	s.values[st] = out
	return out, nil
}

// allRegisters walks a stack again, because an ordinary walk keeps the few registers that it needs.
func (s *Stopped) allRegisters(ctx context.Context, prepared *engine.Prepared, st *Stack, frames int) (th delve.Thread, again []unwind.Frame, err error) {
	if th, err = s.again(st); err != nil {
		return th, nil, err
	}
	Claim(s.View, &th, max(frames+1, leastDepth)) // without them other strategies have to suffice
	stack := prepared.Stack(ctx, &th.Thread, assembler.Options{MaxFrames: max(st.depth, len(st.Frames)), AllRegisters: true})
	th.Claims = nil
	return th, stack.Frames, nil
}

// withRegisters returns frames with the registers of those that were walked again, in their order.
func withRegisters(frames, again []unwind.Frame) []unwind.Frame {
	out := make([]unwind.Frame, len(frames))
	copy(out, frames)
	next := 0
	for i := range out {
		if out[i].Inlined {
			continue
		}
		for k := next; k < len(again); k++ {
			if g := &again[k]; !g.Inlined && g.PC == out[i].PC && g.CFA == out[i].CFA {
				out[i].Registers = g.Registers
				next = k + 1
				break
			}
		}
	}
	return out
}
