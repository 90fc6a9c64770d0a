package wire

import (
	"context"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dapwire"
)

// Settle waits until Delve has done what it was asked before, and stands still;
// if it does not, the error has Delve's words.
func (b *Bridge) Settle(ctx context.Context, m *dapwire.Message) error {
	answer, err := b.Up.Inject(ctx, &dap.StackTraceRequest{
		Request: dap.Request{Command: "stackTrace"}, Arguments: dap.StackTraceArguments{ThreadId: -1, Levels: 1},
	})
	if err != nil || answer.Success {
		return err
	}
	refusal := &Refusal{ID: failures["stackTrace"].id, Message: unable(m.Command), Details: "no stack"}
	var body dap.ErrorResponseBody
	if answer.Decode("body", &body) == nil && body.Error != nil && body.Error.Format != "" {
		refusal.Details = body.Error.Format
	}
	return refusal
}
