package stop

import (
	"context"
	"time"

	"github.com/clewdbg/clew/server/engine"
)

// aheadReader is a [Program] of which images can be read while it runs: it returns the input to tell strategies of
// them, nil if there is no new one.
type aheadReader interface{ Ahead() *engine.Input }

// Between two looks at a running program. A program maps its libraries right after its start: after five seconds, with a
// second between two looks, there are no more.
const (
	aheadFirst = 2 * time.Millisecond
	aheadLast  = time.Second
)

// ahead has strategies learn, up to the first stop or for some seconds, of what the running program maps. A stop that
// comes meanwhile waits no longer than it would work itself.
func (s *Stops) ahead(ctx context.Context, e *engine.Engine) {
	for wait := aheadFirst; wait < aheadLast; wait = wait * 5 / 4 {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		over := false
		err := s.Alone(ctx, func(ctx context.Context) error {
			return s.turn.guarded(func() error { over = s.look(ctx, e); return nil })
		})
		if err != nil {
			s.opts.Log("before the first stop: %v", err)
		}
		if over || err != nil {
			return
		}
	}
}

// look tells strategies what the running program has newly mapped; over says that it does not run, or cannot be looked at.
func (s *Stops) look(ctx context.Context, e *engine.Engine) (over bool) {
	s.mu.Lock()
	program, ok := s.program.(aheadReader)
	s.mu.Unlock()
	if _, err := s.opts.Now(); err == nil || !ok {
		return true
	}
	if in := program.Ahead(); in != nil {
		e.Prepare(ctx, in)
	}
	return false
}
