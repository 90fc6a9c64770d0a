package dap

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/unwind"
)

// scope is a scope of ours.
type scope struct {
	Name               string `json:"name"`
	PresentationHint   string `json:"presentationHint,omitempty"`
	VariablesReference int    `json:"variablesReference"`
	Expensive          bool   `json:"expensive"` // shown, but fetched only when opened
}

type scopesBody struct {
	Scopes []scope `json:"scopes"`
}

// onScopes adds a scope that says how the frame was found. A frame that only
// clew knows has that, its registers, and its variables where DWARF describes them.
func (p *Proxy) onScopes(ctx context.Context, m *dapwire.Message) {
	at, ref, known, ok := p.frameOf(m, errScopes, "Unable to list locals")
	switch {
	case !ok:
	case !known:
		p.pass(m, nil)
	case ref.frame < 0:
		p.respond(m, scopesBody{Scopes: []scope{}})
	case ref.isOwn():
		p.scopesOfOwn(ctx, m, at, ref)
	default:
		p.scopesOfDelve(ctx, m, at, ref)
	}
}

// scopesOfOwn asks Delve for the variables of a frame that is lent to it.
func (p *Proxy) scopesOfOwn(ctx context.Context, m *dapwire.Message, at stop, ref frameRef) {
	var body struct {
		Scopes []json.RawMessage `json:"scopes"`
	}
	answer, err := p.inFrame(ctx, m, ref, true)
	if err == nil && answer.Success {
		p.mapReferences(answer, at, ref, "scopes")
		err = answer.Decode("body", &body)
	}
	if err != nil {
		p.opts.Log("scopes: %v", err)
	}
	var out []any
	for _, raw := range body.Scopes {
		var s scope
		if json.Unmarshal(raw, &s) == nil && s.Name != registersScope { // ours has no more, and says so
			out = append(out, raw)
		}
	}
	for _, s := range p.ownScopes(ctx, m, at, ref) {
		out = append(out, s)
	}
	p.respond(m, map[string]any{"scopes": out})
}

// registersScope is also Delve's name for it, with showRegisters.
const registersScope = "Registers"

// scopesOfDelve adds to Delve's scopes. In code without DWARF it has none and
// answers with an error: then there are those that clew has.
func (p *Proxy) scopesOfDelve(ctx context.Context, m *dapwire.Message, at stop, ref frameRef) {
	answer, err := p.up.ask(ctx, m)
	if err != nil {
		return
	}
	if !answer.Success {
		if _, stopped := p.state.at(); stopped && !strings.Contains(string(answer.Bytes()), internals.RunningText) {
			p.respond(m, scopesBody{Scopes: p.ownScopes(ctx, m, at, ref)})
			return
		}
		p.client.send(answer)
		return
	}
	var body struct {
		Scopes []json.RawMessage `json:"scopes"`
	}
	if answer.Decode("body", &body) == nil {
		if raw, err := json.Marshal(p.unwindScope(at, ref)); err == nil {
			body.Scopes = append(body.Scopes, raw)
			p.respond(m, body)
			return
		}
	}
	p.client.send(answer)
}

// frameOf finds the frame that a request is about; ok is false where the request
// was refused.
func (p *Proxy) frameOf(m *dapwire.Message, id int, message string) (at stop, ref frameRef, known, ok bool) {
	var args struct {
		FrameID int64 `json:"frameId"`
	}
	if m.Decode("arguments", &args) != nil {
		return at, ref, false, true // for Delve to refuse
	}
	at, stopped := p.state.at()
	if !stopped && args.FrameID >= FirstID {
		p.refuse(m, id, message, "debuggee is running")
		return at, ref, false, false
	}
	ref, known, err := p.frames.find(at, args.FrameID)
	if err != nil {
		p.refuse(m, id, message, err.Error())
		return at, ref, false, false
	}
	return at, ref, known, true
}

// ownScopes are the scopes of a frame that Delve has no scopes for.
func (p *Proxy) ownScopes(ctx context.Context, m *dapwire.Message, at stop, ref frameRef) []scope {
	var out []scope
	if vars := p.registers(ctx, m, ref); len(vars) > 0 {
		out = append(out, scope{Name: registersScope, PresentationHint: "registers", VariablesReference: p.frames.mintVars(at.epoch, held{vars: vars})})
	}
	return append(out, p.unwindScope(at, ref))
}

// registers gives a frame's registers.
func (p *Proxy) registers(ctx context.Context, m *dapwire.Message, ref frameRef) []variable {
	regs := ref.stack.stack.Frames[ref.frame].Registers
	err := p.own(ctx, m.Seq, func(ctx context.Context, v *view) error {
		_, all, err := p.recovered(ctx, v, ref)
		if err == nil {
			regs = all
		}
		return err
	})
	if err != nil {
		p.opts.Log("registers: %v", err)
	}
	arch := ref.stack.view.arch()
	var out []variable
	for reg, value := range regs.All() {
		out = append(out, variable{Name: arch.RegisterName(reg), Value: fmt.Sprintf("%#x", value)})
	}
	return out
}

// unwindScope says how a frame was found.
func (p *Proxy) unwindScope(at stop, ref frameRef) scope {
	s := ref.stack
	f := &s.stack.Frames[ref.frame]
	vars := []variable{
		{Name: "strategy", Value: f.Strategy}, {Name: "trust", Value: f.Trust.String()},
		{Name: "pc", Value: fmt.Sprintf("%#x", f.PC.Raw())},
	}
	add := func(name, value string) {
		if value != "" {
			vars = append(vars, variable{Name: name, Value: value})
		}
	}
	hex := func(v uint64) string {
		if v == 0 {
			return ""
		}
		return fmt.Sprintf("%#x", v)
	}
	add("cfa", hex(f.CFA))
	add("rule", f.Rule)
	if f.Image != "" {
		add("image", f.Image)
		add("offset", fmt.Sprintf("%#x", f.Offset))
	}
	if f.Inlined {
		add("inlined", "true")
	}
	for _, n := range f.Notes {
		add("note", n)
	}
	for _, r := range f.Rejected {
		add("rejected", rejection(&r))
	}
	if ref.frame+1 == len(s.stack.Frames) {
		add(s.stack.Stop.String(), s.stack.Reason)
	}
	return scope{Name: "Unwind", VariablesReference: p.frames.mintVars(at.epoch, held{vars: vars}), Expensive: true}
}

func rejection(r *unwind.Rejection) string {
	s := r.Strategy + ": " + r.Reason
	if r.PC != 0 {
		s += fmt.Sprintf(" (pc=%#x, cfa=%#x)", r.PC, r.CFA)
	}
	return s
}
