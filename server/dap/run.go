package dap

import (
	"context"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/session"
)

// running passes the requests that let the program run, or change its memory.
type running struct {
	up     *wire.Link
	state  *debuggee.State
	alias  *debuggee.ThreadAlias
	target func() debuggee.Target
	tell   func(session.Event) // the other clients
}

// onResume passes what lets the program run.
func (r *running) onResume(_ context.Context, m *dapwire.Message) error {
	r.alias.MapThread(m)
	r.resume(m, nil)
	return nil
}

// resume passes what lets the program run; rewrite, which may be nil, changes the
// answer.
func (r *running) resume(m *dapwire.Message, rewrite func(*dapwire.Message)) {
	answered := r.state.Resumes()
	r.up.Forward(m, func(answer *dapwire.Message) {
		answered(answer.Success)
		if rewrite != nil {
			rewrite(answer)
		}
	})
}

// onWrite passes what changes the program's memory.
func (r *running) onWrite(_ context.Context, m *dapwire.Message) error {
	r.up.Forward(m, func(*dapwire.Message) { r.wrote() })
	return nil
}

// wrote is called when a request may have changed the program's memory.
func (r *running) wrote() {
	r.state.Writes()
	if s, ok := r.target().(debuggee.Shared); ok {
		s.Wrote()
	}
	r.tell(session.Event{Kind: session.Invalidated, Areas: []string{"variables", "stacks"}})
}
