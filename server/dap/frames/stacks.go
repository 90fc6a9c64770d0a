package frames

import (
	"context"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/stop"
)

// session is what these parts share.
type session struct {
	wire    *wire.Bridge
	program *debuggee.Program
	ids     *IDs
}

// Stacks handles the requests for stacks.
type Stacks struct {
	session
	notes notes
	view  *view // belongs to the work that is being done
}

// atStop does work at the present stop; see [debuggee.Program.AtStop].
func (s *Stacks) atStop(ctx context.Context, request int64, work func(context.Context, *view) error) error {
	return s.program.AtStop(ctx, request, func(ctx context.Context, v *debuggee.View) error { return work(ctx, s.viewOf(v)) })
}

func (s *Stacks) viewOf(at *debuggee.View) *view {
	if s.view == nil || s.view.View != at {
		s.view = &view{
			View: at, stacks: make(map[stop.Key]*assembled), goStacks: make(map[stop.Key]*goStack), delve: make(map[int64]map[int]delveFrame),
		}
	}
	return s.view
}

// framesOf is the number of frames from the innermost one on that a page needs.
func (s *Stacks) framesOf(want Page) int {
	levels := want.Levels
	if levels <= 0 {
		levels = s.program.Config.Get().Depth
	}
	start := max(want.StartFrame, 0)
	if start >= MaxRows || levels > MaxRows-start {
		return MaxRows
	}
	return start + levels
}
