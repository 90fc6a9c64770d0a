package dap

import (
	"context"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
)

// settle waits until Delve has done what it was asked before, and stands still;
// if it does not, the request is refused in its words.
func settle(ctx context.Context, w *wire.Bridge, m *dapwire.Message) bool {
	answer, err := w.Up.Inject(ctx, stackTraceRequest(page{ThreadID: -1, Levels: 1}))
	if err != nil {
		if w.Context().Err() == nil { // else both connections end
			w.Client.Fail(m, err)
		}
		return false
	}
	if !answer.Success {
		details := "no stack"
		var body dap.ErrorResponseBody
		if answer.Decode("body", &body) == nil && body.Error != nil && body.Error.Format != "" {
			details = body.Error.Format
		}
		w.Client.Refuse(m, errStackTrace, "Unable to process `"+m.Command+"`", details)
		return false
	}
	return true
}
