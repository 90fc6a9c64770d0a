package stop_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/server/stop/stoptest"
	"github.com/clewdbg/clew/unwind"
)

// told counts the updates that a strategy gets.
type told struct {
	unwind.Unwinder
	images []int
}

func (u *told) Update(ctx context.Context, delta unwind.ImageDelta) ([]unwind.ImageReport, error) {
	u.images = append(u.images, len(delta.Added))
	return u.Unwinder.Update(ctx, delta)
}

func newTold() (*engine.Engine, *told) {
	strategies := stoptest.Strategies(unwind.TrustCFI)
	u := &told{Unwinder: strategies[0].Unwinder}
	strategies[0].Unwinder = u
	return engine.New(strategies), u
}

// TestWarm: strategies learn of the program's images before its first stop, whose work begins behind
// that.
func TestWarm(t *testing.T) {
	s, c := newStops(0)
	c.running.Store(true)
	p := stoptest.New(10)
	s.Watch(p, p)
	e, u := newTold()
	s.Warm(context.Background(), func() (*engine.Engine, error) { return e, nil })
	if p.Views() != 1 {
		t.Errorf("the program was read %d times", p.Views())
	}
	c.running.Store(false)
	untilFine(t, s)
	if len(u.images) != 1 || u.images[0] == 0 {
		t.Errorf("told of %v images", u.images)
	}
	// What fails or panics fails again at the stop.
	s.Warm(context.Background(), func() (*engine.Engine, error) { return nil, errors.New("no strategies") })
	s.Warm(context.Background(), func() (*engine.Engine, error) { panic("corrupt") })
	untilFine(t, s)
	s.Watch(nil, nil)
	s.Warm(context.Background(), func() (*engine.Engine, error) { t.Error("asked without a program"); return nil, nil })
}

// mapping is a program that has mapped more each time it is looked at while it runs.
type mapping struct {
	*stoptest.Program
	in    engine.Input
	looks chan struct{}
}

func (m *mapping) Ahead() *engine.Input {
	in := m.in
	for range len(m.looks) + 1 {
		in.Images = append(in.Images, unwind.Image{Path: "lib.so"})
	}
	m.looks <- struct{}{}
	return &in
}

// TestToldAhead: strategies learn of what the running program maps up to its first stop, and not later.
func TestToldAhead(t *testing.T) {
	s, c := newStops(0)
	c.running.Store(true)
	p := &mapping{Program: stoptest.New(10), looks: make(chan struct{}, 1000)}
	view, err := p.View(false)
	if err != nil {
		t.Fatal(err)
	}
	p.in = *view.EngineInput()
	s.Watch(p, p)
	e, u := newTold()
	s.Warm(context.Background(), func() (*engine.Engine, error) { return e, nil })
	for range 2 {
		<-p.looks
	}
	c.running.Store(false)
	untilFine(t, s)
	seen := -1
	expect(t, "the stop", do(s, func(context.Context, *stop.Stopped) error { seen = len(u.images); return nil }), nil)
	if seen < 3 || u.images[1] != 2 {
		t.Errorf("told of %v images", u.images)
	}
	time.Sleep(50 * time.Millisecond)
	expect(t, "later", do(s, func(context.Context, *stop.Stopped) error {
		if len(u.images) != seen {
			t.Errorf("told of %v images while the program stands", u.images[seen:])
		}
		return nil
	}), nil)
}
