package stop

import (
	"context"

	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/values"
	"github.com/clewdbg/clew/unwind"
)

// Stopped is a program at one stop, with the stacks that were found there. It is
// not safe for concurrent use.
type Stopped struct {
	View
	At       Moment // zero outside of [Stops]
	Debugger Debugger

	pace       func() // of the work that is being done
	program    Program
	native     *engine.Prepared // without strategies: the host itself reads Go's tables
	prepared   map[*engine.Engine]*engine.Prepared
	goroutines map[uint64]reading.Thread
	goStacks   map[Key]*Stack // nil: holds other code than Go's
	stacks     map[stackKey]*Stack
	values     map[*Stack]*values.Stack
}

// stackKey names a stack by the strategies that it was made with.
type stackKey struct {
	Key
	prepared *engine.Prepared
}

// At reads a program as it stands. With record set, what is read of its memory is
// kept for a snapshot.
func At(ctx context.Context, program Program, debugger Debugger, record bool) (*Stopped, error) {
	view, err := program.View(record)
	if err != nil {
		return nil, err
	}
	return &Stopped{
		View: view, Debugger: debugger, program: program, native: engine.New(nil).Prepare(ctx, view.EngineInput()),
		prepared: make(map[*engine.Engine]*engine.Prepared), goroutines: make(map[uint64]reading.Thread),
		goStacks: make(map[Key]*Stack), stacks: make(map[stackKey]*Stack),
	}, nil
}

// Record reads the same stop once more, so that what is read of its memory is kept
// for a snapshot.
func (s *Stopped) Record(ctx context.Context) (*Stopped, error) {
	return At(ctx, s.program, s.Debugger, true)
}

// Pace says that work of [Stops.Do] has come a step further.
func (s *Stopped) Pace() { s.pace() }

// Arch is the program's architecture.
func (s *Stopped) Arch() unwind.Arch { return s.EngineInput().Target.Arch }

// Prepare tells an engine's strategies of the program's images, once.
func (s *Stopped) Prepare(ctx context.Context, e *engine.Engine) (*engine.Prepared, error) {
	if prepared := s.prepared[e]; prepared != nil {
		return prepared, nil
	}
	prepared := e.Prepare(ctx, s.EngineInput())
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // strategies may have been left out for that
	}
	s.prepared[e] = prepared
	return prepared, nil
}
