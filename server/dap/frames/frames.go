package frames

import (
	"context"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/stop"
)

// Frames are the parts of a session that show frames.
type Frames struct {
	IDs     *IDs
	Stacks  *Stacks
	Lender  *Lender
	Scopes  *Scopes
	Threads *Threads
}

// session is what these parts share.
type session struct {
	wire    *wire.Bridge
	program *debuggee.Program
	ids     *IDs
}

// New makes the parts of a session that show frames of its program.
func New(w *wire.Bridge, program *debuggee.Program, alias *debuggee.ThreadAlias) *Frames {
	s := session{w, program, new(IDs)}
	lender := &Lender{s}
	return &Frames{
		IDs: s.ids, Lender: lender,
		Stacks:  &Stacks{session: s, notes: notes{client: w.Client}},
		Scopes:  &Scopes{s, lender},
		Threads: &Threads{s, alias},
	}
}

// Stacks handles the requests for stacks.
type Stacks struct {
	session
	notes notes
	view  *view // belongs to the work that is being done
}

// view is the program at one stop, with the stacks that the client was shown.
type view struct {
	*debuggee.View
	stacks   map[stop.Key]*assembled
	goStacks map[stop.Key]*goStack
	delve    map[int64]map[int]delveFrame // by Delve's thread ID and frame index
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
