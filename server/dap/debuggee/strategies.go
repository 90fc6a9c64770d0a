package debuggee

import (
	"context"
	"errors"
	"fmt"

	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/stop"
)

// maxOpened bounds the sets of strategies that are open at once: each strategy is
// a process.
const maxOpened = 4

// Open opens the strategies that a session wants. It is called by the work that is
// being done only.
func (l *Program) Open(want StrategyConfig) (*Opened, error) {
	configured := l.Config.Get().Strategies
	key := want.key()
	if o := l.opened[key]; o != nil {
		return o, o.err
	}
	o := &Opened{}
	if l.Strategies == nil {
		o.err = errors.New("no strategies")
	} else if o.Strategies, o.err = l.Strategies.Open(want); o.err == nil {
		o.Engine = engine.New(o.Strategies.Order)
	}
	switch {
	case o.err == nil:
	case key == configured.key():
		l.Wire.Client.Console(fmt.Sprintf("clew: stacks are Delve's own: %v", o.err))
	default:
		return o, o.err // nothing to keep
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened == nil {
		l.opened = make(map[string]*Opened)
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

// Prepare has the configured strategies learn of the program's images.
func (l *Program) Prepare(ctx context.Context, v *View) (err error) {
	if v.Prepared == nil {
		v.Prepared, err = l.PrepareAt(ctx, v.Stopped, l.Config.Get().Strategies)
	}
	return err
}

// PrepareAt has a set of strategies learn of the program's images at a stop.
func (l *Program) PrepareAt(ctx context.Context, at *stop.Stopped, want StrategyConfig) (*engine.Prepared, error) {
	o, err := l.Open(want)
	if err != nil {
		return nil, err
	}
	return at.Prepare(ctx, o.Engine)
}
