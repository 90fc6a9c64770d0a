package stop

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/server/values"
	"github.com/clewdbg/clew/unwind"
)

// StacksOptions say with what stacks are assembled.
type StacksOptions struct {
	// Strategies opens the strategies, best ranked first. It is called once, when
	// the first stack with other code than Go's is assembled.
	Strategies func() (order []engine.Named, done func(), err error)
	// Patience bounds what is done for one request; 0 is [DefaultPatience].
	Patience time.Duration
	// Log takes what is of interest to those who debug clew itself; may be nil.
	Log func(format string, args ...any)
	// Notify takes what the user should know; may be nil.
	Notify func(text string)
}

// Stacks are the stacks of one program, or of its successors after a restart,
// assembled with one set of strategies. Its methods are safe for concurrent use,
// and must not be called while the program runs. Goroutine 0 and below is what the
// debugger has selected.
type Stacks struct {
	opts   StacksOptions
	stops  *Stops
	writes atomic.Uint64

	// The rest belongs to the work that is being done.
	opened  bool
	openErr error
	done    func() // closes the strategies
	engine  *engine.Engine
}

// NewStacks makes stacks of no program yet; see [Stacks.Watch]. now counts the
// program's stops.
func NewStacks(opts StacksOptions, now func() uint64) *Stacks {
	if opts.Notify == nil {
		opts.Notify = func(string) {}
	}
	s := &Stacks{opts: opts}
	s.stops = New(Options{
		Now:      func() (Moment, error) { return Moment{now(), s.writes.Load()}, nil },
		Patience: opts.Patience, Log: opts.Log,
	})
	return s
}

// Watch sets the program whose stacks are asked for. It is nil if clew cannot read
// the debugger's program: every request fails then.
func (s *Stacks) Watch(debugger Debugger, program Program) { s.stops.Watch(debugger, program) }

// Changed says that the program's memory was written to: it is read again.
func (s *Stacks) Changed() { s.writes.Add(1) }

// Close ends the strategies. No other work begins any more.
func (s *Stacks) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), s.stops.opts.Patience)
	defer cancel()
	if s.stops.turn.take(ctx) == nil && s.done != nil { // else plugins end by themselves when clew is gone
		s.done()
	}
}

// GoStack returns the stack of a goroutine by Go's tables, as [Stopped.Go].
func (s *Stacks) GoStack(goroutine int64, frames int) (st *Stack, err error) {
	err = s.about(goroutine, func(ctx context.Context, at *Stopped, th reading.Thread) (err error) {
		st, err = at.Go(ctx, th, frames)
		return err
	})
	return st, err
}

// Goroutines returns the IDs of all goroutines.
func (s *Stacks) Goroutines() (ids []uint64, err error) {
	err = s.do(func(_ context.Context, at *Stopped) error {
		all, err := at.Goroutines()
		for i := range all {
			ids = append(ids, all[i].Goroutine)
		}
		return err
	})
	return ids, err
}

// Whole returns the stack of a goroutine through any code, as [Stopped.Whole].
func (s *Stacks) Whole(goroutine int64, frames int) (st *Stack, err error) {
	err = s.about(goroutine, func(ctx context.Context, at *Stopped, th reading.Thread) error {
		prepared, err := s.prepare(ctx, at)
		if err == nil {
			st, err = at.Whole(ctx, prepared, th, frames)
		}
		return err
	})
	return st, err
}

// Plan decides how the selected goroutine or thread is to step; see [Stopped.Plan].
func (s *Stacks) Plan(step Step) (d stepping.Decision, err error) {
	err = s.about(0, func(ctx context.Context, at *Stopped, th reading.Thread) (err error) {
		d, err = at.Plan(ctx, th, step, func(ctx context.Context) (*engine.Prepared, error) { return s.prepare(ctx, at) })
		return err
	})
	return d, err
}

// Registers returns all registers that can be recovered for a frame of a stack, or
// those in the stack if the frame is not found again.
func (s *Stacks) Registers(st *Stack, frame int) (regs unwind.Registers, err error) {
	regs = st.Frames[frame].Registers
	err = s.do(func(ctx context.Context, at *Stopped) error {
		prepared, err := s.prepare(ctx, at)
		if err != nil {
			return err
		}
		_, all, err := at.Registers(ctx, prepared, st, frame)
		switch {
		case errors.Is(err, ErrFrameGone):
			return nil
		case err != nil:
			return err
		}
		regs = all
		return nil
	})
	return regs, err
}

// InNative does work in a frame of native code; native is false for Go's frames, in which it is not done.
func (s *Stacks) InNative(st *Stack, frame int, work func(*values.Frame) error) (native bool, err error) {
	err = s.do(func(ctx context.Context, at *Stopped) error {
		if at.IsGo(&st.Frames[frame]) {
			return nil
		}
		native = true
		prepared, err := s.prepare(ctx, at)
		if err != nil {
			return err
		}
		stack, err := at.Values(ctx, prepared, st)
		if err != nil {
			return err
		}
		f, err := stack.Frame(frame)
		if err != nil {
			return err
		}
		return work(f)
	})
	return native, err
}

// Outside does work about what lies outside of functions, in the innermost frame of what the debugger has selected, whatever its language.
func (s *Stacks) Outside(work func(*values.Frame) error) error {
	return s.about(0, func(ctx context.Context, at *Stopped, th reading.Thread) error {
		prepared, err := s.prepare(ctx, at)
		if err != nil {
			return err
		}
		st, err := at.Whole(ctx, prepared, th, 1)
		if err != nil {
			return err
		}
		stack, err := at.Values(ctx, prepared, st)
		if err != nil {
			return err
		}
		f, err := stack.Frame(0)
		if err != nil {
			return err
		}
		return work(f)
	})
}

// Read reads what the program has loaded, as far as that is not known.
func (s *Stacks) Read() error {
	return s.do(func(context.Context, *Stopped) error { return nil })
}

// Frame describes an address, as [Stopped.Frame]. It returns nil for Go code.
func (s *Stacks) Frame(pc unwind.CodeAddr) (out *unwind.Frame, err error) {
	err = s.do(func(_ context.Context, at *Stopped) error {
		if f := at.Frame(pc); !at.IsGo(&f) {
			out = &f
		}
		return nil
	})
	return out, err
}

// Look does work at this stop, with the configured strategies.
func (s *Stacks) Look(work func(context.Context, *Stopped, *engine.Prepared) error) error {
	return s.do(func(ctx context.Context, at *Stopped) error {
		prepared, err := s.prepare(ctx, at)
		if err != nil {
			return err
		}
		return work(ctx, at, prepared)
	})
}

func (s *Stacks) do(work func(context.Context, *Stopped) error) error {
	return s.stops.Do(context.Background(), 0, work)
}

// about does work about a goroutine, or about the selected one for 0.
func (s *Stacks) about(goroutine int64, work func(context.Context, *Stopped, reading.Thread) error) error {
	return s.do(func(ctx context.Context, at *Stopped) (err error) {
		var th reading.Thread
		if goroutine > 0 {
			th, err = at.Goroutine(uint64(goroutine))
		} else {
			th, err = at.Selected()
		}
		if err != nil {
			return err
		}
		return work(ctx, at, th)
	})
}

// prepare tells the strategies of the program's images.
func (s *Stacks) prepare(ctx context.Context, at *Stopped) (*engine.Prepared, error) {
	if !s.opened {
		s.opened = true
		order, done, err := s.opts.Strategies()
		if err != nil {
			s.openErr = err
			s.opts.Notify(fmt.Sprintf("stacks are Delve's own: %v", err))
		} else {
			s.done, s.engine = done, engine.New(order)
		}
	}
	if s.openErr != nil {
		return nil, s.openErr
	}
	return at.Prepare(ctx, s.engine)
}
