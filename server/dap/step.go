package dap

import (
	"context"

	"github.com/clewdbg/clew/server/dapwire"
)

// onStep passes a step. For Delve a thread without a goroutine can step only
// while it is the current one: it is made that.
func (p *Proxy) onStep(ctx context.Context, m *dapwire.Message) {
	id := threadOf(m)
	if tid, ok := ownThread(id); ok {
		if err := p.own(ctx, m.Seq, func(_ context.Context, v *view) error { return v.session.SelectThread(tid) }); err != nil {
			p.refuse(m, errStep, "Unable to step", err.Error())
			return
		}
		p.mapThread(m)
	}
	p.resume(m)
}
