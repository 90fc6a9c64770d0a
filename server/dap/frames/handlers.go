package frames

import (
	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/wire"
)

// Handlers are the parts of a session that show frames.
type Handlers struct {
	IDs      *IDs
	Stacks   *Stacks
	Inserter *Inserter
	Scopes   *Scopes
	Threads  *Threads
}

// New makes the parts of a session that show frames of its program.
func New(w *wire.Bridge, program *debuggee.Program, alias *debuggee.ThreadAlias) *Handlers {
	s := session{w, program, new(IDs)}
	inserter := &Inserter{s}
	return &Handlers{
		IDs: s.ids, Inserter: inserter,
		Stacks:  &Stacks{session: s, notes: notes{console: w.Client.Console}},
		Scopes:  &Scopes{s, inserter},
		Threads: &Threads{s, alias},
	}
}
