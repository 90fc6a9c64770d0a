package stop

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// turn does one piece of work at a time, each in bounded time. Abandoned work goes on
// in the background until it ends, and its results are dropped. It may hold locks, so
// no other work begins before that.
type turn struct {
	patience time.Duration
	log      func(format string, args ...any)
	token    chan struct{} // holds a token while a piece of work is being done

	mu        sync.Mutex
	abandoned bool   // the work was given up and has not ended yet
	request   int64  // the client's request that is being worked on, 0 for none
	cancel    func() // ends that work
}

// do does a piece of work. ready is called when it is this work's turn, and can
// refuse it. The time from one call of pace to the next is bounded.
func (t *turn) do(ctx context.Context, request int64, ready func(context.Context) error, work func(ctx context.Context, pace func()) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	patience := time.AfterFunc(t.patience, func() { end(ErrPatience) })
	defer patience.Stop()
	if t.isAbandoned() {
		return ErrBusy
	}
	if err := t.take(ctx); err != nil {
		return err
	}
	if err := ready(ctx); err != nil {
		t.release()
		return err
	}
	t.mu.Lock()
	t.request, t.cancel = request, func() { end(ErrCancelled) }
	t.mu.Unlock()
	done := make(chan error, 1)
	ended := false // under t.mu
	go func() {
		err := t.guarded(func() error { return work(ctx, func() { patience.Reset(t.patience) }) })
		t.mu.Lock()
		t.request, t.cancel, t.abandoned, ended = 0, nil, false, true
		t.mu.Unlock()
		t.release()
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		why := context.Cause(ctx)
		t.mu.Lock()
		t.abandoned = !ended && errors.Is(why, ErrPatience) // cancelled work ends soon: the next one waits
		t.mu.Unlock()
		return why
	}
}

// guarded turns a panic into an error.
func (t *turn) guarded(work func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			t.log("panic: %v\n%s", r, debug.Stack())
			err = fmt.Errorf("internal error: %v", r)
		}
	}()
	return work()
}

func (t *turn) isAbandoned() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.abandoned
}

// take waits until no other work is being done.
func (t *turn) take(ctx context.Context) error {
	select {
	case t.token <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t *turn) release() { <-t.token }

// stop ends the work for a request of the client's.
func (t *turn) stop(request int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancel == nil || t.request != request || request == 0 {
		return false
	}
	t.cancel()
	return true
}
