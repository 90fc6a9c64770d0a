package dap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/pluginhost"
)

// Strategies are opened unwinders.
type Strategies struct {
	Order  []engine.Named // best ranked first
	Health func() []pluginhost.Health
	Close  func()
}

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

// StrategyConfig says which strategies a session wants, beyond what is configured
// for all.
type StrategyConfig struct {
	// Names are strategies, best ranked first; none means those of the
	// configuration.
	Names []string
	// Plugins are third parties' plugins besides those of the configuration. Those
	// that Names leaves out have their ranks.
	Plugins []pluginhost.ThirdParty
	// Only leaves them out.
	Only bool
}

// StrategySource returns strategies.
type StrategySource interface {
	// Check says what is wrong with a session's wishes; the error's text begins
	// with the key.
	Check(StrategyConfig) error
	Open(StrategyConfig) (*Strategies, error)
}

// key tells configurations apart.
func (c *StrategyConfig) key() string {
	text, _ := json.Marshal(c) // nothing in it can fail
	return string(text)
}

// open opens the strategies that a session wants. It is called by the work that is
// being done only.
func (p *Proxy) open(want StrategyConfig) (*opened, error) {
	configured := p.config.wishes()
	key := want.key()
	l := &p.program
	if o := l.opened[key]; o != nil {
		return o, o.err
	}
	o := &opened{}
	if p.opts.Strategies == nil {
		o.err = errors.New("no strategies")
	} else if o.strategies, o.err = p.opts.Strategies.Open(want); o.err == nil {
		o.engine = engine.New(o.strategies.Order)
	}
	switch {
	case o.err == nil:
	case key == configured.key():
		p.console(fmt.Sprintf("clew: stacks are Delve's own: %v", o.err))
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
func (p *Proxy) prepare(ctx context.Context, v *view) error {
	if v.prepared != nil {
		return nil
	}
	prepared, err := p.prepareOther(ctx, v, p.config.wishes())
	if err == nil {
		v.prepared = prepared
	}
	return err
}

// prepareOther has a set of strategies learn of the program's images.
func (p *Proxy) prepareOther(ctx context.Context, v *view, want StrategyConfig) (*engine.Prepared, error) {
	o, err := p.open(want)
	if err != nil {
		return nil, err
	}
	return v.Prepare(ctx, o.engine)
}
