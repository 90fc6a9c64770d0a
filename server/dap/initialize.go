package dap

import (
	"context"

	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
)

// clientCapabilities are what the client can do, as far as clew uses it.
type clientCapabilities struct {
	SupportsProgressReporting bool `json:"supportsProgressReporting"`
	// ColumnsStartAt1 is true where it is missing.
	ColumnsStartAt1 *bool `json:"columnsStartAt1"`
}

// initializer handles what client and debugger say that they can do.
type initializer struct {
	wire *wire.Bridge
	caps clientCapabilities
	here bool // the program is in this process
}

// onInitialize adds to Delve's capabilities that this is clew: user interfaces ask for
// that, and not for the type of the debugger. An upstream that says so itself is clew:
// everything passes.
func (i *initializer) onInitialize(_ context.Context, m *dapwire.Message) error {
	_ = m.Decode("arguments", &i.caps) // Delve refuses what is malformed
	i.wire.Up.Forward(m, func(answer *dapwire.Message) {
		body, ok := answer.Get("body")
		if !answer.Success || !ok {
			return
		}
		capabilities, err := dapwire.ParseObject(body)
		if err != nil {
			return
		}
		if known, _ := capabilities.Get("supportsClew"); string(known) == "true" {
			i.wire.PassAll()
			return
		}
		capabilities.Set("supportsClew", []byte("true"))
		capabilities.Set("supportsCancelRequest", []byte("true"))      // of clew's own requests
		capabilities.Set("supportsCompletionsRequest", []byte("true")) // of clew's console commands
		if i.here {
			capabilities.Set("supportsLoadedSourcesRequest", []byte("true"))
			capabilities.Set("supportsBreakpointLocationsRequest", []byte("true"))
		}
		answer.Set("body", capabilities.Bytes())
	})
	return nil
}
