package dap

import (
	"context"
	"encoding/json"

	"github.com/clewdbg/clew/internal/version"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/session"
)

// clientCapabilities are what the client can do, as far as clew uses it.
type clientCapabilities struct {
	ClientName                string `json:"clientName"`
	SupportsProgressReporting bool   `json:"supportsProgressReporting"`
	SupportsInvalidatedEvent  bool   `json:"supportsInvalidatedEvent"`
	SupportsMemoryReferences  bool   `json:"supportsMemoryReferences"`
	// ColumnsStartAt1 is true where it is missing.
	ColumnsStartAt1 *bool `json:"columnsStartAt1"`
}

// initializer handles what client and debugger say that they can do.
type initializer struct {
	wire   *wire.Bridge
	client *session.Client
	caps   clientCapabilities
	here   bool // the program is in this process
}

// onInitialize adds to Delve's capabilities that this is clew: user interfaces ask for
// that, and not for the type of the debugger. An upstream that says so itself is clew:
// everything passes.
func (i *initializer) onInitialize(_ context.Context, m *dapwire.Message) error {
	_ = m.Decode("arguments", &i.caps) // Delve refuses what is malformed
	if name := i.caps.ClientName; name != "" {
		i.client.Describe(name)
	}
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
			i.client.Leave() // it has an owner there
			return
		}
		capabilities.Set("supportsClew", []byte("true"))
		capabilities.Set("clewVersion", clewVersion())
		capabilities.Set("supportsCancelRequest", []byte("true"))      // of clew's own requests
		capabilities.Set("supportsCompletionsRequest", []byte("true")) // of clew's console commands and of expressions
		capabilities.Set("completionTriggerCharacters", []byte(`["."]`))
		capabilities.Set("supportsSetExpression", []byte("true"))
		capabilities.Set("supportsModulesRequest", []byte("true"))
		capabilities.Set("additionalModuleColumns", []byte(moduleColumns))
		if i.here {
			capabilities.Set("supportsStepInTargetsRequest", []byte("true"))
			capabilities.Set("supportsLoadedSourcesRequest", []byte("true"))
			capabilities.Set("supportsBreakpointLocationsRequest", []byte("true"))
		}
		answer.Set("body", capabilities.Bytes())
	})
	return nil
}

// clewVersion is clew's version, in JSON.
func clewVersion() []byte {
	text, _ := json.Marshal(version.Get().Version) // a string always can be
	return text
}
