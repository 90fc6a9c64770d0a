package frames

import (
	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/wire"
)

// Handlers are the parts of a session that show frames.
type Handlers struct {
	IDs     *IDs
	Stacks  *Stacks
	Lender  *Lender
	Scopes  *Scopes
	Threads *Threads
}

// New makes the parts of a session that show frames of its program.
func New(w *wire.Bridge, program *debuggee.Program, alias *debuggee.ThreadAlias) *Handlers {
	s := session{w, program, new(IDs)}
	lender := &Lender{s}
	return &Handlers{
		IDs: s.ids, Lender: lender,
		Stacks:  &Stacks{session: s, notes: notes{console: w.Client.Console}},
		Scopes:  &Scopes{s, lender},
		Threads: &Threads{s, alias},
	}
}
