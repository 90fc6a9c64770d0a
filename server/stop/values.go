package stop

import (
	"context"
	"errors"

	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/delve/reading"
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

// ErrNoGo says that nothing here reads variables of Go.
var ErrNoGo = errors.New("variables of Go are read where a debugger holds the process")

// GoValues are the arguments and locals of a Go frame, as the debugger has them.
func (s *Stopped) GoValues(th *reading.Thread, st *unwind.Stack, frame int) (arguments, locals []stackjson.Value, err error) {
	d, ok := s.Debugger.(interface {
		GoValues(f *reading.RecoveredFrame, index int) (arguments, locals []stackjson.Value, err error)
	})
	if !ok {
		return nil, nil, ErrNoGo
	}
	f := &st.Frames[frame]
	return d.GoValues(reading.Recovered(th, s.Arch(), st.Frames, frame, f.Registers), f.DelveFrame)
}

// ErrNoCode says that the program's code is not known here.
var ErrNoCode = errors.New("the program's images are not known here")

// Values returns a stack's frames for what they hold: with all registers that a walk can recover, each bound
// to this stop.
func (s *Stopped) Values(ctx context.Context, prepared *engine.Prepared, st *Stack) (*values.Stack, error) {
	if known := s.values[st]; known != nil {
		return known, nil
	}
	th, again, err := s.allRegisters(ctx, prepared, st, len(st.Frames))
	if err != nil {
		return nil, err
	}
	from, err := s.source(th.ID)
	if err != nil {
		return nil, err
	}
	if w, ok := s.Debugger.(Writer); ok {
		from.Write = w.WriteMemory
		from.SetRegister = func(reg uint64, data []byte) error { return w.SetRegister(th.ID, reg, data) }
	}
	out := values.New(from, withRegisters(st.Frames, again))
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if s.values == nil {
		s.values = make(map[*Stack]*values.Stack)
	}
	s.values[st] = out
	return out, nil
}

// ValuesOf returns the frames of a stack that has all registers ([AllOptions]) for what they hold. They are read from
// memory where that is not nil.
func (s *Stopped) ValuesOf(st *unwind.Stack, memory unwind.Memory) (*values.Stack, error) {
	from, err := s.source(st.Thread)
	if memory != nil {
		from.Memory = memory
	}
	return values.New(from, st.Frames), err
}

// source is what values of a thread's frames are read from.
func (s *Stopped) source(thread uint64) (from values.Source, err error) {
	code, ok := s.EngineInput().Target.Code.(*codemap.Map)
	if !ok {
		return from, ErrNoCode
	}
	from = values.Source{Arch: s.Arch(), Code: code, Memory: s.EngineInput().Target.Memory}
	if v, ok := s.Debugger.(Vectors); ok && thread != 0 {
		from.Vector = func(reg uint64) ([]byte, bool) { return v.Vector(thread, reg) }
	}
	return from, nil
}

// allRegisters walks a stack again, because an ordinary walk keeps the few registers that it needs.
func (s *Stopped) allRegisters(ctx context.Context, prepared *engine.Prepared, st *Stack, frames int) (th reading.Thread, again []unwind.Frame, err error) {
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
				out[i].Registers, out[i].Rule = g.Registers, g.Rule
				next = k + 1
				break
			}
		}
	}
	return out
}
