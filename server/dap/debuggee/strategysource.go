package debuggee

import (
	"encoding/json"

	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/pluginhost"
)

// StrategyConfig says which strategies a session wants, beyond what is configured
// for all.
type StrategyConfig struct {
	// Names are strategies, best ranked first; none means those of the
	// configuration.
	Names []string
	// Plugins are third parties' plugins besides those of the configuration. Those
	// that Names leaves out have their ranks.
	Plugins []pluginhost.Config
	// Only leaves them out.
	Only bool
}

// StrategySource opens strategies.
type StrategySource interface {
	// Check says what is wrong with a session's wishes; the error's text begins
	// with the key.
	Check(StrategyConfig) error
	Open(StrategyConfig) (*Strategies, error)
}

// key tells wishes apart.
func (c *StrategyConfig) key() string {
	text, _ := json.Marshal(c) // nothing in it can fail
	return string(text)
}

// Strategies are opened unwinders.
type Strategies struct {
	Order  []engine.Named // best ranked first
	Health func() []pluginhost.Health
	Close  func()
}

// Opened is a set of strategies that was opened, or could not be.
type Opened struct {
	Strategies *Strategies
	Engine     *engine.Engine
	err        error
}

func (o *Opened) close() {
	if o.Strategies != nil && o.Strategies.Close != nil {
		o.Strategies.Close()
	}
}
