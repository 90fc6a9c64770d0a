package dap

import (
	"context"

	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/pluginhost"
)

// pluginsBody is the answer to clew/plugins: that of `clew plugins --format json`.
type pluginsBody struct {
	Plugins []pluginhost.Health `json:"plugins"`
}

// onClewPlugins answers clew/plugins: the session's strategies by rank, and how
// they are. The program may run.
func (p *Proxy) onClewPlugins(ctx context.Context, m *dapwire.Message) {
	body, err := p.plugins(ctx)
	if err != nil {
		p.refuseOwn(m, err)
		return
	}
	p.respond(m, body)
}

// plugins has every strategy say what it is, which starts its plugin if need be,
// and gives their health.
func (p *Proxy) plugins(ctx context.Context) (*pluginsBody, error) {
	var body *pluginsBody
	err := p.program.stops.Alone(ctx, func(ctx context.Context) error {
		o, err := p.open(p.config.wishes())
		if err != nil {
			return err
		}
		for _, s := range o.strategies.Order {
			_, _ = s.Unwinder.Describe(ctx) // its health says why it does not
		}
		body = &pluginsBody{o.strategies.Health()}
		return nil
	})
	return body, err
}
