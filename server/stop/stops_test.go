package stop_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/server/stop/stoptest"
)

// clock is the moment as a session has it.
type clock struct {
	epoch, writes atomic.Uint64
	running       atomic.Bool
	moves         atomic.Int64
}

func (c *clock) now() (stop.Moment, error) {
	at := stop.Moment{Epoch: c.epoch.Load(), Writes: c.writes.Load()}
	if c.running.Load() {
		return at, stop.ErrRunning
	}
	return at, nil
}

func newStops(patience time.Duration) (*stop.Stops, *clock) {
	c := new(clock)
	return stop.New(stop.Options{Now: c.now, Moved: func() { c.moves.Add(1); c.epoch.Add(1) }, Patience: patience}), c
}

// do does work for request 5.
func do(s *stop.Stops, work func(context.Context, *stop.Stopped) error) error {
	return s.Do(context.Background(), 5, work)
}

func fine(context.Context, *stop.Stopped) error { return nil }

func expect(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// untilFine waits until work is done again.
func untilFine(t *testing.T, s *stop.Stops) {
	t.Helper()
	for end := time.Now().Add(time.Minute); do(s, fine) != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it stays busy")
		}
	}
}

// TestWorkNeedsAProgramThatStands: what is refused before work begins.
func TestWorkNeedsAProgramThatStands(t *testing.T) {
	s, c := newStops(time.Minute)
	expect(t, "nothing is watched", do(s, fine), stop.ErrNoProgram)
	p := stoptest.New(3)
	s.Watch(p, nil)
	expect(t, "a recording", do(s, fine), stop.ErrNoProgram)
	if s.Debugger() != p {
		t.Error("the debugger of a recording is not known")
	}
	s.Watch(p, p)
	c.running.Store(true)
	expect(t, "it runs", do(s, fine), stop.ErrRunning)
	c.running.Store(false)
	expect(t, "it stands", do(s, fine), nil)
	p.OnView = func() error { return stop.ErrNoProgram }
	c.epoch.Add(1)
	expect(t, "the view fails", do(s, fine), stop.ErrNoProgram)
}

// TestStopIsKept: a stop is viewed once, until the program runs, is written to, or
// is another.
func TestStopIsKept(t *testing.T) {
	s, c := newStops(time.Minute)
	p := stoptest.New(3)
	s.Watch(p, p)
	views := func(what string, want int) {
		t.Helper()
		expect(t, what, do(s, fine), nil)
		if p.Views() != want {
			t.Errorf("%s: %d views, want %d", what, p.Views(), want)
		}
	}
	views("first", 1)
	views("the same stop", 1)
	c.epoch.Add(1)
	views("the next stop", 2)
	c.writes.Add(1)
	views("after a write", 3)
	s.Watch(p, p)
	views("after a restart", 4)
	if err := do(s, func(context.Context, *stop.Stopped) error { return errors.New("failure") }); err == nil {
		t.Error("the failure is lost")
	}
	views("after a failure", 4)
}

// TestMoved: work whose program moved meanwhile has no result, and neither has
// what was kept.
func TestMoved(t *testing.T) {
	s, c := newStops(time.Minute)
	p := stoptest.New(3)
	s.Watch(p, p)
	expect(t, "first", do(s, fine), nil)
	moved := errors.New("moved")
	expect(t, "meanwhile", do(s, func(context.Context, *stop.Stopped) error { p.Move(moved); return nil }), moved)
	if c.moves.Load() != 1 {
		t.Errorf("told %d times of the move", c.moves.Load())
	}
	expect(t, "afterwards", do(s, fine), nil)
	p.Move(moved) // between requests
	var at stop.Moment
	expect(t, "between", do(s, func(_ context.Context, v *stop.Stopped) error { at = v.At; return nil }), nil)
	if p.Views() != 3 || at.Epoch != 2 || c.moves.Load() != 2 {
		t.Errorf("%d views, at %+v, %d moves", p.Views(), at, c.moves.Load())
	}
	expect(t, "a stop came meanwhile", do(s, func(context.Context, *stop.Stopped) error { c.epoch.Add(1); return nil }), stop.ErrMoved)
}

// TestWorkIsBounded: work that panics or stalls is given up, and keeps others out
// until it has come to its end.
func TestWorkIsBounded(t *testing.T) {
	patient, _ := newStops(time.Minute)
	s, _ := newStops(50 * time.Millisecond)
	p := stoptest.New(3)
	patient.Watch(p, p)
	s.Watch(p, p)
	if err := do(patient, func(context.Context, *stop.Stopped) error { panic("at the disco") }); err == nil || !strings.Contains(err.Error(), "at the disco") {
		t.Errorf("a panic: %v", err)
	}
	release := make(chan struct{})
	expect(t, "stalled", do(s, func(context.Context, *stop.Stopped) error { <-release; return nil }), stop.ErrPatience)
	expect(t, "while it stalls", do(s, fine), stop.ErrBusy)
	close(release)
	untilFine(t, s)
}

// TestPacedWork: only the time from step to step is bounded.
func TestPacedWork(t *testing.T) {
	const patience = 500 * time.Millisecond
	s, _ := newStops(patience)
	p := stoptest.New(3)
	s.Watch(p, p)
	begun := time.Now()
	err := s.Do(context.Background(), 0, func(ctx context.Context, at *stop.Stopped) error {
		for time.Since(begun) < 2*patience && ctx.Err() == nil {
			time.Sleep(patience / 20)
			at.Pace()
		}
		return nil
	})
	expect(t, "paced", err, nil)
	err = s.Do(context.Background(), 0, func(ctx context.Context, at *stop.Stopped) error {
		at.Pace()
		<-ctx.Done()
		return nil
	})
	expect(t, "stalled", err, stop.ErrPatience)
}

// TestCancel: a request's work ends when the request is cancelled, and the next
// waits for its end.
func TestCancel(t *testing.T) {
	s, _ := newStops(time.Minute)
	p := stoptest.New(3)
	s.Watch(p, p)
	if s.Cancel(0) || s.Cancel(5) {
		t.Error("nothing was to be cancelled")
	}
	ended := make(chan struct{})
	err := do(s, func(ctx context.Context, _ *stop.Stopped) error {
		if s.Cancel(6) || s.Cancel(0) || !s.Cancel(5) {
			t.Error("the wrong request was cancelled")
		}
		<-ctx.Done()
		close(ended)
		return nil
	})
	expect(t, "cancelled", err, stop.ErrCancelled)
	expect(t, "the next", do(s, func(context.Context, *stop.Stopped) error {
		select {
		case <-ended:
		default:
			t.Error("it did not wait")
		}
		return nil
	}), nil)
	ctx, cancel := context.WithCancelCause(context.Background())
	gone := errors.New("the client is gone")
	expect(t, "the caller's context", s.Do(ctx, 0, func(ctx context.Context, _ *stop.Stopped) error {
		cancel(gone)
		<-ctx.Done()
		return nil
	}), gone)
}

// TestAlone: work that needs no program waits for its turn, as long as it may.
func TestAlone(t *testing.T) {
	s, _ := newStops(50 * time.Millisecond)
	nothing := func(context.Context) error { return nil }
	expect(t, "no program", s.Alone(context.Background(), nothing), nil)
	expect(t, "too long", s.Alone(context.Background(), func(ctx context.Context) error { <-ctx.Done(); return nil }), stop.ErrPatience)
	expect(t, "while other work is done", s.Alone(context.Background(), func(context.Context) error {
		return s.Alone(context.Background(), nothing)
	}), stop.ErrPatience)
}

// TestExpect: work waits for a program that is being reached.
func TestExpect(t *testing.T) {
	s, _ := newStops(time.Minute)
	reached := s.Expect()
	if s.Expect() != nil {
		t.Error("it was announced twice")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	expect(t, "before", s.Do(ctx, 0, fine), context.DeadlineExceeded)
	go func() {
		p := stoptest.New(3)
		s.Watch(p, p)
		reached()
	}()
	expect(t, "then", do(s, fine), nil)
	s, _ = newStops(time.Minute)
	s.Expect()() // it was not reached
	expect(t, "not reached", do(s, fine), stop.ErrNoProgram)
}
