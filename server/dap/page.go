package dap

import (
	"github.com/clewdbg/clew/server/stop"
	"github.com/google/go-dap"
)

// page is what a stackTrace request asks for.
type page struct {
	ThreadID   int64 `json:"threadId"`
	StartFrame int   `json:"startFrame"`
	Levels     int   `json:"levels"`
}

// maxRows bounds what one request can ask for.
const maxRows = stop.MaxClaims

// frames returns which frames a request is about: from start up to end.
func (want *page) frames() (start, end int) {
	start, end = max(want.StartFrame, 0), maxRows
	if want.Levels > 0 && want.Levels < maxRows-start {
		end = start + want.Levels
	}
	return start, end
}

// stackTraceRequest asks Delve for a page of a stack.
func stackTraceRequest(want page) *dap.StackTraceRequest {
	return &dap.StackTraceRequest{
		Request:   dap.Request{Command: "stackTrace"},
		Arguments: dap.StackTraceArguments{ThreadId: int(want.ThreadID), StartFrame: want.StartFrame, Levels: want.Levels},
	}
}
