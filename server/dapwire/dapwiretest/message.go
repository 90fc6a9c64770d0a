package dapwiretest

import (
	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dapwire"
)

// Request makes a request; it has no number yet.
func Request(command string, arguments any) (*dapwire.Message, error) {
	return dapwire.NewRequest(&struct {
		dap.Request
		Arguments any `json:"arguments,omitempty"`
	}{dap.Request{Command: command}, arguments})
}
