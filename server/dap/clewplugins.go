package dap

import (
	"context"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/pluginhost"
)

// pluginsResponse is the answer to clew/plugins: that of `clew plugins --format json`.
type pluginsResponse struct {
	dap.Response
	Body pluginsBody `json:"body"`
}

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
	p.respond(m, &pluginsResponse{Body: *body})
}

// plugins has every strategy say what it is, which starts its plugin if need be,
// and gives their health.
func (p *Proxy) plugins(ctx context.Context) (*pluginsBody, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.opts.Patience, errPatience)
	defer cancel()
	select {
	case p.look.turn <- struct{}{}:
		defer func() { <-p.look.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	o, err := p.open(p.config.wishes())
	if err != nil {
		return nil, err
	}
	for _, s := range o.strategies.Order {
		_, _ = s.Unwinder.Describe(ctx) // its health says why it does not
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return &pluginsBody{o.strategies.Health()}, nil
}
