package wire

import (
	"context"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dapwire"
)

// Settle waits until Delve has done what it was asked before, and stands still;
// if it does not, the request is refused in its words.
func (b *Bridge) Settle(ctx context.Context, m *dapwire.Message) bool {
	answer, err := b.Up.Inject(ctx, &dap.StackTraceRequest{
		Request: dap.Request{Command: "stackTrace"}, Arguments: dap.StackTraceArguments{ThreadId: -1, Levels: 1},
	})
	if err != nil {
		if b.Context().Err() == nil { // else both connections end
			b.Client.Fail(m, err)
		}
		return false
	}
	if !answer.Success {
		details := "no stack"
		var body dap.ErrorResponseBody
		if answer.Decode("body", &body) == nil && body.Error != nil && body.Error.Format != "" {
			details = body.Error.Format
		}
		b.Client.Refuse(m, StackTraceFailed, "Unable to process `"+m.Command+"`", details)
		return false
	}
	return true
}
