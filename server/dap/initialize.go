package dap

import (
	"context"

	"github.com/clewdbg/clew/server/dapwire"
)

// clientCapabilities are what the client can do, as far as clew asks.
type clientCapabilities struct {
	SupportsInvalidatedEvent  bool `json:"supportsInvalidatedEvent"`
	SupportsProgressReporting bool `json:"supportsProgressReporting"`
	// ColumnsStartAt1 is true where it is not said.
	ColumnsStartAt1 *bool `json:"columnsStartAt1"`
}

// onInitialize adds to Delve's capabilities that this is clew: user interfaces
// ask for that, and not for the type of the debugger. Where the upstream has said so
// itself, it is clew's: everything passes.
func (p *Proxy) onInitialize(_ context.Context, m *dapwire.Message) {
	_ = m.Decode("arguments", &p.caps) // Delve refuses what is malformed
	p.pass(m, func(answer *dapwire.Message) {
		body, ok := answer.Get("body")
		if !answer.Success || !ok {
			return
		}
		capabilities, err := dapwire.ParseObject(body)
		if err != nil {
			return
		}
		if known, _ := capabilities.Get("supportsClew"); string(known) == "true" {
			p.passes.Store(true)
			return
		}
		capabilities.Set("supportsClew", []byte("true"))
		capabilities.Set("supportsCancelRequest", []byte("true"))      // of clew's own requests
		capabilities.Set("supportsCompletionsRequest", []byte("true")) // of clew's console commands
		answer.Set("body", capabilities.Bytes())
	})
}
