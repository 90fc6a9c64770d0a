package stacks

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/live"
)

// Options say with what stacks are assembled.
type Options struct {
	// Strategies opens the strategies, best ranked first. It is called once, when
	// the first stack with other code than Go's is assembled.
	Strategies func() (order []engine.Named, done func(), err error)
	// DebugFolders are where separate debug files are looked for; nil means where
	// distributions put them.
	DebugFolders []string
	// Patience bounds what is done for one request; 0 is [DefaultPatience].
	Patience time.Duration
	// Log takes what is of interest to who debugs clew itself; may be nil.
	Log func(format string, args ...any)
	// Notify takes what the user should know; may be nil.
	Notify func(text string)
}

// DefaultPatience is long: it must suffice for the first stack of a large
// program on a busy machine, and stalling plugins are cut off much earlier.
const DefaultPatience = 15 * time.Second

// Stacks are the stacks of one program, or of its successors after a restart.
// Its methods are safe for concurrent use, and must not be called while the
// program runs.
type Stacks struct {
	opts Options
	// turn holds a token while a piece of work is being done. givenUp: it was given
	// up and may not have come back yet.
	turn    chan struct{}
	givenUp atomic.Bool

	// The rest belongs to who holds the token.
	session *delve.Session
	process *live.Process
	view    *view
	opened  bool
	openErr error
	done    func() // closes the strategies
	engine  *engine.Engine
}

var (
	errBusy     = errors.New("an earlier look at the program has not ended yet")
	errPatience = errors.New("looking at the program took too long")
	errMoved    = errors.New("the program has run meanwhile")
	errNoTarget = errors.New("there is no program to look at")
)

// New makes stacks of no program yet; see [Stacks.Watch].
func New(opts Options) *Stacks {
	if opts.Patience <= 0 {
		opts.Patience = DefaultPatience
	}
	if opts.Log == nil {
		opts.Log = func(string, ...any) {}
	}
	if opts.Notify == nil {
		opts.Notify = func(string) {}
	}
	return &Stacks{opts: opts, turn: make(chan struct{}, 1)}
}

// Watch makes a program the one that stacks are of. The process may be nil where
// none can be looked at: every request fails then.
func (s *Stacks) Watch(session *delve.Session, process *live.Process) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.session, s.process, s.view = session, process, nil
	if process != nil {
		process.FindDebugFiles(s.opts.DebugFolders)
	}
}

// Changed says that the program's memory was written to: what is known of it is
// read again.
func (s *Stacks) Changed() {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.view = nil
}

// Close ends the strategies.
func (s *Stacks) Close() {
	select {
	case s.turn <- struct{}{}: // and it is kept: nothing begins any more
		if s.done != nil {
			s.done()
		}
	case <-time.After(s.opts.Patience): // plugins end by themselves when clew is gone
	}
}

// do does a piece of work at the present stop, in bounded time. Work that was
// given up goes on in the background until it comes to an end, and its results
// are dropped.
func (s *Stacks) do(work func(context.Context, *view) error) error {
	if s.givenUp.Load() && len(s.turn) > 0 {
		return errBusy
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), s.opts.Patience, errPatience)
	defer cancel()
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	done := make(chan error, 1)
	go func() {
		err := s.work(ctx, work)
		s.givenUp.Store(false)
		<-s.turn
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		s.givenUp.Store(true)
		return context.Cause(ctx)
	}
}

func (s *Stacks) work(ctx context.Context, work func(context.Context, *view) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			s.opts.Log("panic: %v\n%s", r, debug.Stack())
			err = fmt.Errorf("internal error: %v", r)
		}
		if err != nil {
			s.view = nil // half-done
		}
	}()
	if s.process == nil {
		return errNoTarget
	}
	at := delve.Moment()
	if s.view == nil || s.view.at != at {
		if s.view, err = s.look(ctx, at); err != nil {
			return err
		}
	}
	if err := work(ctx, s.view); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx) // stacks may be truncated for that
	case delve.Moment() != at:
		return errMoved
	}
	return nil
}

// prepare has the strategies learn of the program's images.
func (s *Stacks) prepare(ctx context.Context, v *view) error {
	if v.prepared != nil {
		return nil
	}
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
		return s.openErr
	}
	v.prepared = s.engine.Prepare(ctx, &v.live.Input)
	return nil
}
