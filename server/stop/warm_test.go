package stop_test

import (
	"context"
	"errors"
	"testing"

	"github.com/clewdbg/clew/server/engine"
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

// TestWarm: strategies learn of the program's images before its first stop, whose work begins behind
// that.
func TestWarm(t *testing.T) {
	s, c := newStops(0)
	c.running.Store(true)
	p := stoptest.New(10)
	s.Watch(p, p)
	strategies := stoptest.Strategies(unwind.TrustCFI)
	u := &told{Unwinder: strategies[0].Unwinder}
	strategies[0].Unwinder = u
	e := engine.New(strategies)
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
