package dap

import (
	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/session"
)

// told tells this client what another one has done. It must not wait.
func (s *sharing) told(e session.Event) {
	if !s.attached.Load() {
		return
	}
	switch e.Kind {
	case session.Continued:
		s.state.Runs()
		s.wire.Client.Tell(&dap.ContinuedEvent{
			Event: event("continued"), Body: dap.ContinuedEventBody{ThreadId: int(s.last.Load()), AllThreadsContinued: true},
		})
	case session.StoppedAt:
		s.toldStop(*e.Stop)
	case session.Restarted:
		s.toldStop(session.Stop{Reason: "entry", Description: "Restarted by " + e.By, Thread: 1})
	case session.Exited:
		s.state.Runs()
		s.wire.Client.Tell(&dap.ExitedEvent{Event: event("exited"), Body: dap.ExitedEventBody{ExitCode: e.ExitCode}})
		s.toldEnd()
	case session.Terminated:
		s.state.Runs()
		s.toldEnd()
	case session.BreakpointChanged:
		s.toldBreakpoint(e.Breakpoint)
	case session.Invalidated:
		s.state.Writes()
		if s.caps.SupportsInvalidatedEvent {
			s.wire.Client.Tell(&dap.InvalidatedEvent{Event: event("invalidated"), Body: dap.InvalidatedEventBody{Areas: areasOf(e.Areas)}})
		}
	}
}

func event(name string) dap.Event { return dap.Event{Event: name} }

func areasOf(names []string) (out []dap.InvalidatedAreas) {
	for _, name := range names {
		out = append(out, dap.InvalidatedAreas(name))
	}
	return out
}

// toldStop tells of a stop that this client has not asked for: its editor stays where its
// user looks.
func (s *sharing) toldStop(stop session.Stop) {
	s.alias.Stopped.Store(0)
	if stop.Thread >= debuggee.FirstID {
		s.alias.Stopped.Store(stop.Thread)
	}
	s.last.Store(stop.Thread)
	s.state.Stops()
	s.wire.Client.Tell(&dap.StoppedEvent{Event: event("stopped"), Body: dap.StoppedEventBody{
		Reason: stop.Reason, Description: stop.Description, Text: stop.Text, ThreadId: int(stop.Thread),
		HitBreakpointIds: stop.Breakpoints, PreserveFocusHint: true, AllThreadsStopped: true,
	}})
}

func (s *sharing) toldEnd() {
	if s.wire.Over() {
		return // by Delve, or because it has asked for that
	}
	s.wire.Client.Tell(&dap.TerminatedEvent{Event: event("terminated")})
}

// toldBreakpoint tells of another client's breakpoint. It has source and line always: an editor
// has failed without them.
func (s *sharing) toldBreakpoint(b *session.Breakpoint) {
	s.wire.Client.Tell(&dap.BreakpointEvent{Event: event("breakpoint"), Body: dap.BreakpointEventBody{
		Reason:     b.Change,
		Breakpoint: dap.Breakpoint{Id: b.ID, Verified: true, Line: b.Line, Source: s.sourceOf(b.File)},
	}})
}

func (s *sharing) sourceOf(file string) *dap.Source {
	return s.config.Source(file, "")
}
