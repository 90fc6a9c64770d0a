package stop

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Options are the options of [Stops].
type Options struct {
	// Now returns the current stop; an error says that the program runs.
	Now func() (Moment, error)
	// Moved is called when the program is no longer at the stop that Now returned.
	// May be nil.
	Moved func()
	// Patience bounds a piece of work, or each step of paced work; 0 is
	// [DefaultPatience].
	Patience time.Duration
	// Log takes messages for debugging clew itself; may be nil.
	Log func(format string, args ...any)
}

// DefaultPatience is long: it must suffice for the first stack of a large
// program on a busy machine, and stalling plugins are cut off much earlier.
const DefaultPatience = 15 * time.Second

// Stops are the stops of one program, or of its successors after restarts. What
// was found at a stop is kept until the program moves, or is written to. Its
// methods are safe for concurrent use.
type Stops struct {
	opts Options
	turn turn

	mu       sync.Mutex
	debugger Debugger
	program  Program
	stopped  *Stopped      // at the last stop that was worked at
	reached  chan struct{} // closed when it is known whether a program can be reached; nil if none is expected
	lack     error         // why there is no program to read
}

// New makes stops of no program yet; see [Stops.Watch].
func New(opts Options) *Stops {
	if opts.Patience <= 0 {
		opts.Patience = DefaultPatience
	}
	if opts.Log == nil {
		opts.Log = func(string, ...any) {}
	}
	if opts.Moved == nil {
		opts.Moved = func() {}
	}
	return &Stops{opts: opts, turn: turn{patience: opts.Patience, log: opts.Log, token: make(chan struct{}, 1)}}
}

// Watch sets the program to work with. It is nil if clew cannot read the debugger's
// program: all work fails then.
func (s *Stops) Watch(debugger Debugger, program Program) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.debugger, s.program, s.stopped, s.lack = debugger, program, nil, nil
}

// Lack says why there is no program to read.
func (s *Stops) Lack(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lack = why
}

// Expect announces a program that is being reached: work waits until done is
// called, before which comes [Stops.Watch] if it was reached. It returns nil if a
// program was announced before.
func (s *Stops) Expect() (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reached != nil {
		return nil
	}
	reached := make(chan struct{})
	s.reached = reached
	return func() { close(reached) }
}

// Reached waits until the program is reached, or cannot be.
func (s *Stops) Reached(ctx context.Context) error {
	s.mu.Lock()
	reached := s.reached
	s.mu.Unlock()
	if reached == nil {
		return nil
	}
	select {
	case <-reached:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Debugger is the debugger that is watched, nil for none.
func (s *Stops) Debugger() Debugger {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.debugger
}

// Do does a piece of work at the present stop, in bounded time: work of many steps calls
// [Stopped.Pace] after each, and only the time from step to step is bounded. An error says
// that it failed, took too long, or panicked, or that its results belong to no stop.
// Request is the client's number for [Stops.Cancel], 0 for none.
func (s *Stops) Do(ctx context.Context, request int64, work func(context.Context, *Stopped) error) error {
	if _, err := s.opts.Now(); err != nil {
		return err // at once, and not when its turn comes
	}
	var at presence
	ready := func(ctx context.Context) (err error) {
		at, err = s.present(ctx)
		return err
	}
	return s.turn.do(ctx, request, ready, func(ctx context.Context, pace func()) error {
		stopped, err := s.stoppedAt(ctx, &at)
		if err != nil {
			return err
		}
		stopped.pace = pace
		if err := work(ctx, stopped); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx) // stacks may be truncated for that
		}
		if now, err := s.opts.Now(); err == nil && now.Epoch != stopped.At.Epoch {
			return ErrMoved
		}
		return s.still(stopped)
	})
}

// Alone does work that needs no program while nothing else is being done.
func (s *Stops) Alone(ctx context.Context, work func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.opts.Patience, ErrPatience)
	defer cancel()
	if err := s.turn.take(ctx); err != nil {
		return err
	}
	defer s.turn.release()
	if err := work(ctx); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// Cancel ends the work for a request of the client's. It returns false if there is
// none.
func (s *Stops) Cancel(request int64) bool { return s.turn.stop(request) }

// presence is the program that is watched, at a stop.
type presence struct {
	at       Moment
	debugger Debugger
	program  Program
}

func (s *Stops) present(ctx context.Context) (p presence, err error) {
	if err := s.Reached(ctx); err != nil {
		return p, err
	}
	if p.at, err = s.opts.Now(); err != nil {
		return p, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.debugger, p.program = s.debugger, s.program
	if p.program == nil {
		if s.lack != nil {
			return p, fmt.Errorf("%w: %w", ErrNoProgram, s.lack)
		}
		return p, ErrNoProgram
	}
	return p, nil
}

// stoppedAt returns the stop that p names. It is read when it is first needed.
func (s *Stops) stoppedAt(ctx context.Context, p *presence) (*Stopped, error) {
	s.mu.Lock()
	kept := s.stopped
	s.mu.Unlock()
	if kept != nil && kept.At == p.at && kept.program == p.program {
		if s.still(kept) == nil {
			return kept, nil
		}
		if now, err := s.opts.Now(); err == nil {
			p.at = now
		}
	}
	stopped, err := At(ctx, p.program, p.debugger, false)
	if err != nil {
		return nil, err
	}
	stopped.At = p.at
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.program == p.program {
		s.stopped = stopped
	}
	return stopped, nil
}

// still checks that the program has not moved since a stop. If it has, the stop is
// dropped.
func (s *Stops) still(stopped *Stopped) error {
	err := stopped.Still()
	if err == nil {
		return nil
	}
	s.mu.Lock()
	kept := s.stopped == stopped
	if kept {
		s.stopped = nil
	}
	s.mu.Unlock()
	if kept {
		s.opts.Moved()
	}
	return err
}
