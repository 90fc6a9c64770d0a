package dap

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve/breakpoints"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/session"
)

// placer is a target with places that Delve does not find: native code, code that is not loaded yet, lines of images without DWARF.
type placer interface {
	BreakWanted(name string, where breakpoints.Where, message string) (*breakpoints.Change, error)
	WhereAt(addr uint64) breakpoints.Where
	TellBreaks(func(breakpoints.Change)) (end func())
}

// wantedAt returns the name that Delve has for a breakpoint of a list, and where it is.
func (l *breakpointList) wantedAt(t placer, s *sharing, command string, b *breakpointArguments) (name string, where breakpoints.Where) {
	switch command {
	case "setBreakpoints":
		return internals.SourceBreakpoint(l.path, b.Line, b.Column), breakpoints.Where{File: s.config.ServerPath(l.path), Line: b.Line}
	case "setFunctionBreakpoints":
		return internals.FunctionBreakpoint(b.Name), breakpoints.Parse(b.Name)
	case "setInstructionBreakpoints":
		if addr, err := strconv.ParseUint(b.InstructionReference, 0, 64); err == nil && b.Offset == 0 {
			where = t.WhereAt(addr)
		}
		return internals.InstructionBreakpoint(b.InstructionReference), where
	}
	return "", where
}

// place sets those of the breakpoints that Delve cannot place. Delve takes them
// for its own from its next request on. What the client is to know of them is kept, by their place in the list. Their conditions are spelled
// as Delve keeps them; then changed is true.
func (l *breakpointList) place(s *sharing, m *dapwire.Message, wanted []session.Wanted) (changed bool) {
	t, ok := s.program.Target().(placer)
	if !ok || len(wanted) == 0 {
		return false
	}
	l.messages, l.placed = make(map[int]string), make(map[int]*breakpoints.Change)
	watch := false
	for i, w := range wanted {
		var b breakpointArguments
		if json.Unmarshal(w.Raw, &b) != nil {
			continue
		}
		name, where := l.wantedAt(t, s, m.Command, &b)
		if where.None() {
			continue
		}
		is, err := t.BreakWanted(name, where, w.LogMessage)
		if err != nil {
			l.messages[i] = err.Error()
		}
		if is != nil {
			if l.placed[i] = is; !is.Verified {
				l.messages[i] = is.Message
			}
			wanted[i].Condition = breakpoints.Spell(w.Condition)
			changed, watch = changed || w.Condition != "", watch || w.LogMessage != ""
		}
	}
	if len(l.messages) > 0 || watch {
		s.watchBreaks(t)
	}
	return changed
}

// watchBreaks tells the client of breakpoints that are placed later, from now on.
func (s *sharing) watchBreaks(t placer) {
	s.watching.Do(func() { context.AfterFunc(s.wire.Context(), t.TellBreaks(s.toldChange)) })
}

// toldChange tells of a breakpoint that was placed, or waits again for its code, or has logged a message: as Delve does.
func (s *sharing) toldChange(c breakpoints.Change) {
	if c.Logged {
		body := dap.OutputEventBody{Category: "stdout", Output: fmt.Sprintf("> [Go %d]: %s\n", c.Goroutine, c.Message), Source: s.sourceOf(c.File), Line: c.Line}
		s.wire.Client.Tell(&dap.OutputEvent{Event: event("output"), Body: body})
		return
	}
	b := dap.Breakpoint{Id: c.ID, Verified: c.Verified, Line: c.Line}
	if c.File != "" {
		b.Source = s.sourceOf(c.File)
	}
	if !c.Verified {
		b.Message = c.Message
	}
	s.wire.Client.Tell(&dap.BreakpointEvent{Event: event("breakpoint"), Body: dap.BreakpointEventBody{Reason: "changed", Breakpoint: b}})
}
