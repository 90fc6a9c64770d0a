package frames

import (
	"github.com/clewdbg/clew/server/stop"
	"github.com/google/go-dap"
)

// Page is what a stackTrace request asks for.
type Page struct {
	ThreadID   int64 `json:"threadId"`
	StartFrame int   `json:"startFrame"`
	Levels     int   `json:"levels"`
}

// MaxRows bounds what one request can ask for.
const MaxRows = stop.MaxClaims

// Frames returns which frames a request is about: from start up to end.
func (want *Page) Frames() (start, end int) {
	start, end = max(want.StartFrame, 0), MaxRows
	if want.Levels > 0 && want.Levels < MaxRows-start {
		end = start + want.Levels
	}
	return start, end
}

// stackTraceRequest asks Delve for a page of a stack.
func stackTraceRequest(want Page) *dap.StackTraceRequest {
	return &dap.StackTraceRequest{
		Request:   dap.Request{Command: "stackTrace"},
		Arguments: dap.StackTraceArguments{ThreadId: int(want.ThreadID), StartFrame: want.StartFrame, Levels: want.Levels},
	}
}
