package dap

import (
	"context"
	"errors"
	"fmt"

	"github.com/clewdbg/clew/server/engine"
)

// opened is a set of strategies that was opened, or could not be.
type opened struct {
	strategies *Strategies
	engine     *engine.Engine
	err        error
}

func (o *opened) close() {
	if o.strategies != nil && o.strategies.Close != nil {
		o.strategies.Close()
	}
}

// maxOpened bounds the sets of strategies that are open at once: each strategy is
// a process.
const maxOpened = 4

// open opens the strategies that a session wants. It is called by the work that is
// being done only.
func (l *program) open(want StrategyConfig) (*opened, error) {
	configured := l.config.wishes()
	key := want.key()
	if o := l.opened[key]; o != nil {
		return o, o.err
	}
	o := &opened{}
	if l.strategies == nil {
		o.err = errors.New("no strategies")
	} else if o.strategies, o.err = l.strategies.Open(want); o.err == nil {
		o.engine = engine.New(o.strategies.Order)
	}
	switch {
	case o.err == nil:
	case key == configured.key():
		l.client.Console(fmt.Sprintf("clew: stacks are Delve's own: %v", o.err))
	default:
		return o, o.err // nothing to keep
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened == nil {
		l.opened = make(map[string]*opened)
	}
	for other, old := range l.opened {
		if len(l.opened) >= maxOpened && other != configured.key() {
			delete(l.opened, other)
			old.close()
		}
	}
	l.opened[key] = o
	return o, o.err
}

// prepare has the configured strategies learn of the program's images.
func (l *program) prepare(ctx context.Context, v *view) error {
	if v.prepared != nil {
		return nil
	}
	prepared, err := l.prepareOther(ctx, v, l.config.wishes())
	if err == nil {
		v.prepared = prepared
	}
	return err
}

// prepareOther has a set of strategies learn of the program's images.
func (l *program) prepareOther(ctx context.Context, v *view, want StrategyConfig) (*engine.Prepared, error) {
	o, err := l.open(want)
	if err != nil {
		return nil, err
	}
	return v.Prepare(ctx, o.engine)
}
