package dap

import (
	"context"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/pluginhost"
)

// pluginsBody is the answer to clew/plugins: that of `clew plugins --format json`.
type pluginsBody struct {
	Plugins []pluginhost.Health `json:"plugins"`
}

// pluginLister lists strategies, and says how their plugins are.
type pluginLister struct {
	wire    *wire.Bridge
	program *debuggee.Program
}

// onPlugins answers clew/plugins: the session's strategies by rank, and how
// they are. The program may run.
func (l *pluginLister) onPlugins(ctx context.Context, m *dapwire.Message) error {
	body, err := l.list(ctx)
	if err == nil {
		l.wire.Client.Respond(m, body)
	}
	return err
}

// list has every strategy say what it is, which starts its plugin if need be,
// and returns their health.
func (l *pluginLister) list(ctx context.Context) (body *pluginsBody, err error) {
	err = l.program.Stops.Alone(ctx, func(ctx context.Context) error {
		o, err := l.program.Open(l.program.Config.Get().Strategies)
		if err != nil {
			return err
		}
		for _, s := range o.Strategies.Order {
			_, _ = s.Unwinder.Describe(ctx) // its health says why it does not
		}
		body = &pluginsBody{o.Strategies.Health()}
		return nil
	})
	return body, err
}
