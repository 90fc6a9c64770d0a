package dap

import (
	"context"
	"encoding/json"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/session"
)

// placer is a target with places that Delve does not find: lines and functions of images without DWARF.
type placer interface {
	WithoutLines() bool
	BreakAtLine(path, file string, line, column int)
	BreakAtFunction(name string)
}

// place sets those of the breakpoints that Delve cannot place: in a file, or at functions. Delve takes them
// for its own from its next request on.
func (l *breakpointList) place(ctx context.Context, s *sharing, m *dapwire.Message, wanted []session.Wanted) {
	t, ok := s.program.Target().(placer)
	if state, _ := s.client.State(); !ok || len(wanted) == 0 || state != session.Stopped && state != session.Changing {
		return
	}
	var at func(*breakpointArguments)
	switch {
	case m.Command == "setFunctionBreakpoints":
		at = func(b *breakpointArguments) { t.BreakAtFunction(b.Name) }
	case l.path != "" && t.WithoutLines():
		at = func(b *breakpointArguments) { t.BreakAtLine(l.path, s.config.ServerPath(l.path), b.Line, b.Column) }
	default:
		return
	}
	all := func() error {
		for _, w := range wanted {
			var b breakpointArguments
			if json.Unmarshal(w.Raw, &b) == nil {
				at(&b)
			}
		}
		return nil
	}
	var err error
	if _, stopped := s.state.At(); stopped {
		err = s.program.AtStop(ctx, m.Seq, func(context.Context, *debuggee.View) error { return all() })
	} else { // while the client configures the session
		err = s.program.Stops.BeforeRun(ctx, all)
	}
	if err != nil {
		s.wire.Log("breakpoints without DWARF: %v", err)
	}
}
