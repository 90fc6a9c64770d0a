package dap

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

// scopesResponse is [dap.ScopesResponse] with scopes of Delve's, whose bytes stay, too.
type scopesResponse struct {
	dap.Response
	Body scopesBody `json:"body"`
}

type scopesBody struct {
	Scopes []json.RawMessage `json:"scopes"`
}

// onScopes adds a scope that says how the frame was found. A frame that only
// clew knows has that, its registers, and its variables where DWARF describes them.
func (p *Proxy) onScopes(ctx context.Context, m *dapwire.Message) {
	at, ref, known, ok := p.frameOf(m, errScopes, "Unable to list locals")
	switch {
	case !ok:
	case !known:
		p.up.Forward(m, nil)
	case ref.frame < 0:
		p.client.Respond(m, &dap.ScopesResponse{Body: dap.ScopesResponseBody{Scopes: []dap.Scope{}}})
	case ref.isOwn():
		p.scopesOfOwn(ctx, m, at, ref)
	default:
		p.scopesOfDelve(ctx, m, at, ref)
	}
}

// scopesOfOwn asks Delve for the variables of a frame that is lent to it.
func (p *Proxy) scopesOfOwn(ctx context.Context, m *dapwire.Message, at stop.Moment, ref frameRef) {
	var body scopesBody
	answer, err := p.inFrame(ctx, m, ref, true)
	if err == nil && answer.Success {
		p.mapReferences(answer, at, ref, "scopes")
		err = answer.Decode("body", &body)
	}
	if err != nil {
		p.opts.Log("scopes: %v", err)
	}
	var out scopesResponse
	for _, raw := range body.Scopes {
		var s dap.Scope
		if json.Unmarshal(raw, &s) == nil && s.Name != registersScope { // ours has no more, and says so
			out.Body.Scopes = append(out.Body.Scopes, raw)
		}
	}
	for _, s := range p.ownScopes(ctx, m, at, ref) {
		if raw, err := json.Marshal(s); err == nil {
			out.Body.Scopes = append(out.Body.Scopes, raw)
		}
	}
	p.client.Respond(m, &out)
}

// registersScope is also Delve's name for it, with showRegisters.
const registersScope = "Registers"

// scopesOfDelve adds to Delve's scopes. In code without DWARF it has none and
// answers with an error: then there are those that clew has.
func (p *Proxy) scopesOfDelve(ctx context.Context, m *dapwire.Message, at stop.Moment, ref frameRef) {
	answer, err := p.up.Ask(ctx, m)
	if err != nil {
		return
	}
	if !answer.Success {
		if _, stopped := p.state.at(); stopped && !strings.Contains(string(answer.Bytes()), internals.RunningText) {
			p.client.Respond(m, &dap.ScopesResponse{Body: dap.ScopesResponseBody{Scopes: p.ownScopes(ctx, m, at, ref)}})
			return
		}
		p.client.Send(answer)
		return
	}
	var out scopesResponse
	if answer.Decode("body", &out.Body) == nil {
		if raw, err := json.Marshal(p.unwindScope(at, ref)); err == nil {
			out.Body.Scopes = append(out.Body.Scopes, raw)
			p.client.Respond(m, &out)
			return
		}
	}
	p.client.Send(answer)
}

// frameOf finds the frame that a request is about; ok is false where the request
// was refused.
func (p *Proxy) frameOf(m *dapwire.Message, id int, message string) (at stop.Moment, ref frameRef, known, ok bool) {
	var args struct {
		FrameID int64 `json:"frameId"`
	}
	if m.Decode("arguments", &args) != nil {
		return at, ref, false, true // for Delve to refuse
	}
	at, stopped := p.state.at()
	if !stopped && args.FrameID >= FirstID {
		p.client.Refuse(m, id, message, "debuggee is running")
		return at, ref, false, false
	}
	ref, known, err := p.frames.find(at, args.FrameID)
	if err != nil {
		p.client.Refuse(m, id, message, err.Error())
		return at, ref, false, false
	}
	return at, ref, known, true
}

// ownScopes are the scopes of a frame that Delve has no scopes for.
func (p *Proxy) ownScopes(ctx context.Context, m *dapwire.Message, at stop.Moment, ref frameRef) []dap.Scope {
	var out []dap.Scope
	if vars := p.registers(ctx, m, ref); len(vars) > 0 {
		out = append(out, dap.Scope{Name: registersScope, PresentationHint: "registers", VariablesReference: p.frames.mintVars(at.Epoch, held{vars: vars})})
	}
	return append(out, p.unwindScope(at, ref))
}

// registers gives a frame's registers.
func (p *Proxy) registers(ctx context.Context, m *dapwire.Message, ref frameRef) []dap.Variable {
	regs := ref.stack.stack.Frames[ref.frame].Registers
	err := p.program.atStop(ctx, m.Seq, func(ctx context.Context, v *view) error {
		_, all, err := p.recovered(ctx, v, ref)
		if err == nil {
			regs = all
		}
		return err
	})
	if err != nil {
		p.opts.Log("registers: %v", err)
	}
	arch := ref.stack.found.Arch
	var out []dap.Variable
	for reg, value := range regs.All() {
		out = append(out, dap.Variable{Name: arch.RegisterName(reg), Value: fmt.Sprintf("%#x", value)})
	}
	return out
}

// unwindScope says how a frame was found.
func (p *Proxy) unwindScope(at stop.Moment, ref frameRef) dap.Scope {
	s := ref.stack
	f := &s.stack.Frames[ref.frame]
	vars := []dap.Variable{
		{Name: "strategy", Value: f.Strategy}, {Name: "trust", Value: f.Trust.String()},
		{Name: "pc", Value: fmt.Sprintf("%#x", f.PC.Raw())},
	}
	add := func(name, value string) {
		if value != "" {
			vars = append(vars, dap.Variable{Name: name, Value: value})
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
	return dap.Scope{Name: "Unwind", VariablesReference: p.frames.mintVars(at.Epoch, held{vars: vars}), Expensive: true}
}

func rejection(r *unwind.Rejection) string {
	s := r.Strategy + ": " + r.Reason
	if r.PC != 0 {
		s += fmt.Sprintf(" (pc=%#x, cfa=%#x)", r.PC, r.CFA)
	}
	return s
}
