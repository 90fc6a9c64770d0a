package stop

import (
	"context"
	"time"

	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/unwind"
)

// warmPatience bounds the wait for what a program has loaded.
const warmPatience = 200 * time.Millisecond

// Warm has strategies learn, in the background, of what the program has loaded before it is
// resumed for the first time: at its first stop that would cost more than all the rest. It returns
// when the program is no longer read. Whatever fails fails again at the first stop, which says so.
func (s *Stops) Warm(ctx context.Context, open func() (*engine.Engine, error)) {
	read := make(chan struct{})
	go func() {
		var e *engine.Engine
		err := s.Alone(ctx, func(ctx context.Context) error {
			return s.turn.guarded(func() (err error) { e, err = s.warm(ctx, open, read); return err })
		})
		if err != nil {
			s.opts.Log("before the first stop: %v", err)
		} else {
			s.ahead(ctx, e)
		}
	}()
	select {
	case <-read:
	case <-time.After(warmPatience):
	}
}

// BeforeRun does work with what a program has loaded that stands still before it is resumed for the first time.
func (s *Stops) BeforeRun(ctx context.Context, work func() error) error {
	return s.Alone(ctx, func(context.Context) error {
		if _, err := s.loaded(); err != nil {
			return err
		}
		return work()
	})
}

// loaded reads what the program has loaded.
func (s *Stops) loaded() (View, error) {
	s.mu.Lock()
	program := s.program
	s.mu.Unlock()
	if program == nil {
		return nil, ErrNoProgram
	}
	return program.View(false)
}

// debuggerAhead is a [Debugger] that can read tables before it needs them.
type debuggerAhead interface{ ReadAhead() }

func (s *Stops) warm(ctx context.Context, open func() (*engine.Engine, error), read chan<- struct{}) (*engine.Engine, error) {
	view, err := s.loaded()
	if d, ok := s.Debugger().(debuggerAhead); ok {
		d.ReadAhead()
	}
	close(read)
	if err != nil {
		return nil, err
	}
	e, err := open()
	if err != nil {
		return nil, err
	}
	in := view.EngineInput()
	prepared := e.Prepare(ctx, in)
	all, ok := in.Target.Code.(interface{ Find(string) []uint64 })
	if !ok || in.Names == nil {
		return e, nil
	}
	var stack unwind.Stack
	for _, pc := range all.Find(startsCgo) {
		stack.Frames = append(stack.Frames, unwind.Frame{PC: unwind.Code(pc, unwind.KindInstruction), DelveFrame: -1, Segment: -1})
	}
	in.Names.Name(&stack) // reads tables of lines
	if len(stack.Frames) > 0 {
		prepared.Rehearse(ctx, stack.Frames[0].PC.Raw())
	}
	return e, nil
}

// startsCgo is a C function of every program that cgo has a part in.
const startsCgo = "x_cgo_init"
