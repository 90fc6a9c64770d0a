package dap

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve/breakpoints"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/session"
)

// A client's request for breakpoints replaces a list: the breakpoints of a file, or all of a
// kind. For Delve all clients have the same lists, so it gets the union of theirs.

// breakpointLists are the lists, by the request that replaces one: the argument that holds it, and where a
// breakpoint is.
var breakpointLists = map[string]struct {
	argument string
	key      func(b *breakpointArguments) string
}{
	"setBreakpoints":            {"breakpoints", func(b *breakpointArguments) string { return fmt.Sprintf("%d:%d", b.Line, b.Column) }},
	"setFunctionBreakpoints":    {"breakpoints", func(b *breakpointArguments) string { return b.Name }},
	"setInstructionBreakpoints": {"breakpoints", func(b *breakpointArguments) string { return fmt.Sprintf("%s+%d", b.InstructionReference, b.Offset) }},
	"setDataBreakpoints":        {"breakpoints", func(b *breakpointArguments) string { return b.DataID }},
	"setExceptionBreakpoints":   {"filters", nil},
}

// breakpointArguments are those of a breakpoint of any list.
type breakpointArguments struct {
	Line, Column                        int
	Name, InstructionReference          string
	Offset                              int
	DataID                              string `json:"dataId"`
	Condition, HitCondition, LogMessage string
}

// breakpoint is one of this client's, as it is told to others.
type breakpoint struct {
	session.Breakpoint
	wanted session.Wanted
}

// breakpointList is a request's list.
type breakpointList struct {
	name     string // which one it is, for all clients
	path     string // of the file whose breakpoints they are
	argument string
	args     *dapwire.Object // of the request
	own      []session.Wanted
	messages map[int]string              // what there is to say of breakpoints that are not placed
	placed   map[int]*breakpoints.Change // those that clew has placed
}

// listOf reads a request; a file gets the name that all clients have for it, if there are rules for that (else nil). An
// error says that the request is malformed, for Delve to refuse.
func listOf(m *dapwire.Message, names *debuggee.Config) (*breakpointList, error) {
	form := breakpointLists[m.Command]
	raw, _ := m.Get("arguments")
	args, err := dapwire.ParseObject(raw)
	if err != nil {
		return nil, err
	}
	l := &breakpointList{name: m.Command, argument: form.argument, args: args}
	var items []json.RawMessage
	if raw, ok := args.Get(form.argument); ok {
		if err := json.Unmarshal(raw, &items); err != nil {
			return nil, err
		}
	}
	for _, item := range items {
		w := session.Wanted{Key: string(item), Raw: item}
		if form.key != nil {
			var b breakpointArguments
			if err := json.Unmarshal(item, &b); err != nil {
				return nil, err
			}
			w = session.Wanted{Key: form.key(&b), Condition: b.Condition, HitCondition: b.HitCondition, LogMessage: b.LogMessage, Raw: item}
		}
		l.own = append(l.own, w)
	}
	if m.Command == "setBreakpoints" {
		var args dap.SetBreakpointsArguments
		if err := m.Decode("arguments", &args); err != nil {
			return nil, err
		}
		path := args.Source.Path
		if names != nil {
			path = nameAlike(names, l.args, path)
		}
		l.name += " " + path
		l.path = path
	}
	return l, nil
}

// nameAlike has a file named in a request as all clients name it: Delve knows a list by that name.
func nameAlike(config *debuggee.Config, args *dapwire.Object, path string) string {
	server := config.ServerPath(path)
	if server == path {
		return path
	}
	raw, _ := args.Get("source")
	if source, err := dapwire.ParseObject(raw); err == nil {
		source.Set("path", quote(server))
		args.Set("source", source.Bytes())
	}
	return server
}

func quote(text string) []byte {
	raw, err := json.Marshal(text)
	if err != nil {
		return []byte(`""`) // of a string nothing fails
	}
	return raw
}

// put puts the union in place of the list.
func (l *breakpointList) put(m *dapwire.Message, union []session.Wanted) {
	list := []byte("[")
	for i, w := range union {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, itemOf(w)...)
	}
	l.args.Set(l.argument, append(list, ']'))
	m.Set("arguments", l.args.Bytes())
}

// itemOf returns a breakpoint for a request, with the conditions that it has now.
func itemOf(w session.Wanted) []byte {
	item, err := dapwire.ParseObject(w.Raw)
	if err != nil {
		return w.Raw // a filter's name
	}
	for name, value := range map[string]string{"condition": w.Condition, "hitCondition": w.HitCondition, "logMessage": w.LogMessage} {
		if item.Text(name) != value {
			item.Set(name, quote(value))
		}
	}
	return item.Bytes()
}

// maxBreakpoints bounds one request's: Delve takes a millisecond for each, and answers nothing else meanwhile.
const maxBreakpoints = 4096

// setBreakpoints sets this client's breakpoints, and leaves those of others.
func (s *sharing) setBreakpoints(ctx context.Context, m *dapwire.Message, handle func() error) error {
	var names *debuggee.Config
	if s.multi != "" {
		names = s.config
	}
	list, err := listOf(m, names)
	if err != nil {
		return s.whileStopped(s.client.Use)(ctx, m, handle)
	}
	if len(list.own) > maxBreakpoints {
		return &wire.Refusal{ID: 2002, Message: "Unable to set or clear breakpoints", Details: fmt.Sprintf("%d breakpoints at once, of at most %d", len(list.own), maxBreakpoints)}
	}
	forward := func() error {
		union, refused := s.owner.Breakpoints.Union(s.client, list.name, list.own)
		if list.place(s, m, union) || s.multi != "" || !s.client.Alone() {
			list.put(m, union)
		}
		rewrite := func(answer *dapwire.Message) { s.breakpointsSet(list, refused, answer) }
		s.wire.Up.Forward(m, rewrite)
		return nil
	}
	state, own := s.client.State()
	switch runs := state == session.Running || state == session.Stepping; {
	case runs && own && notMeanwhile[m.Command]: // whatever Delve does in the end
	case runs && own && !s.owner.Nudges():
		return s.halting(ctx, m, forward, func() {}) // Delve's session halts its own run for that, once
	case runs:
		return s.aside(ctx, m, forward)
	}
	return s.whileStopped(s.client.Change)(ctx, m, forward)
}

// asideSoon bounds the wait for a program to run on that is halted for work aside, maybe until this work is done.
const asideSoon = 5 * time.Millisecond

// notMeanwhile are the lists that Delve's session does not change while it runs the program.
var notMeanwhile = map[string]bool{"setDataBreakpoints": true, "setExceptionBreakpoints": true}

// aside sets breakpoints while the program runs: clew halts it, again and again until they are set. Delve's session halts its own run for
// that too, but once, which comes to nothing where the program does not run yet or another client runs it by then.
func (s *sharing) aside(ctx context.Context, m *dapwire.Message, forward func() error) error {
	err := s.client.Aside(s.wire.Context(), m.Command, func() { // the request is not cancelled: Delve answers it
		answered := make(chan struct{})
		soon, cancel := context.WithTimeout(ctx, asideSoon)
		defer cancel()
		_ = s.halting(soon, m, forward, func() { close(answered) })
		<-answered
	})
	if err != nil {
		return &wire.Refusal{ID: 2002, Message: "Unable to set or clear breakpoints", Details: err.Error()}
	}
	return nil
}

// breakpointsSet takes the others' breakpoints out of Delve's answer, and tells them of
// this client's.
func (s *sharing) breakpointsSet(list *breakpointList, refused map[int]error, answer *dapwire.Message) {
	raw, _ := answer.Get("body")
	body, err := dapwire.ParseObject(raw)
	if !answer.Success || err != nil || list.argument != "breakpoints" {
		return
	}
	var items []json.RawMessage
	raw, _ = body.Get("breakpoints")
	if json.Unmarshal(raw, &items) != nil || len(items) < len(list.own) {
		return
	}
	changed := len(items) > len(list.own)
	items = items[:len(list.own)]
	change := func(i int, with func(*dap.Breakpoint)) {
		var b dap.Breakpoint
		_ = json.Unmarshal(items[i], &b)
		with(&b)
		if out, err := json.Marshal(b); err == nil {
			items[i], changed = out, true
		}
	}
	for i, is := range list.placed {
		if i >= len(items) || !is.Verified {
			continue
		}
		change(i, func(b *dap.Breakpoint) {
			if !b.Verified && b.Message == internals.NoAddress { // another stands there, for Delve
				b.Verified, b.Message, b.Id, b.Line, b.Source = true, "", is.ID, is.Line, s.sourceOf(is.File)
			}
		})
	}
	for i, text := range list.messages {
		if i < len(items) {
			change(i, func(b *dap.Breakpoint) {
				if !b.Verified {
					b.Message = text
				}
			})
		}
	}
	for i, err := range refused {
		change(i, func(b *dap.Breakpoint) { b.Id, b.Verified, b.Message = 0, false, err.Error() })
	}
	if changed {
		if out, err := json.Marshal(items); err == nil {
			body.Set("breakpoints", out)
			answer.Set("body", body.Bytes())
		}
	}
	s.tellBreakpoints(list, items)
}

// tellBreakpoints tells the others what is new, changed or removed.
func (s *sharing) tellBreakpoints(list *breakpointList, items []json.RawMessage) {
	now := make(map[int]*breakpoint)
	for i, item := range items {
		var b dap.Breakpoint
		if json.Unmarshal(item, &b) != nil || !b.Verified || b.Source == nil || b.Line == 0 {
			continue
		}
		now[b.Id] = &breakpoint{session.Breakpoint{ID: b.Id, File: s.config.ServerPath(b.Source.Path), Line: b.Line}, list.own[i]}
	}
	s.mu.Lock()
	before := s.have[list.name]
	if s.have == nil {
		s.have = make(map[string]map[int]*breakpoint)
	}
	s.have[list.name] = now
	s.mu.Unlock()
	others := s.owner.Breakpoints.Others(s.client, list.name)
	for id, b := range now {
		switch old := before[id]; {
		case old == nil && !others[b.wanted.Key]:
			s.tellBreakpoint(b, "new")
		case old == nil, old.wanted.Condition != b.wanted.Condition, old.wanted.HitCondition != b.wanted.HitCondition, old.wanted.LogMessage != b.wanted.LogMessage:
			s.tellBreakpoint(b, "changed")
		}
	}
	for id, b := range before {
		if now[id] != nil {
			continue
		}
		if others[b.wanted.Key] {
			s.tellBreakpoint(b, "changed")
		} else {
			s.tellBreakpoint(b, "removed")
		}
	}
}

func (s *sharing) tellBreakpoint(b *breakpoint, change string) {
	told := b.Breakpoint
	told.Change = change
	s.client.Tell(session.Event{Kind: session.BreakpointChanged, Breakpoint: &told})
}
