package frames

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/wire"
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

// Scopes handles the requests for what a frame holds.
type Scopes struct {
	session
	lender *Lender
}

// OnScopes adds a scope that says how the frame was found. A frame that only
// clew knows has that, its registers, and its variables where DWARF describes them.
func (c *Scopes) OnScopes(ctx context.Context, m *dapwire.Message) {
	at, ref, known, ok := c.lender.FrameOf(m, wire.ScopesFailed, "Unable to list locals")
	switch {
	case !ok:
	case !known:
		c.wire.Up.Forward(m, nil)
	case ref.frame < 0:
		c.wire.Client.Respond(m, &dap.ScopesResponse{Body: dap.ScopesResponseBody{Scopes: []dap.Scope{}}})
	case ref.isOwn():
		c.scopesOfOwn(ctx, m, at, ref)
	default:
		c.scopesOfDelve(ctx, m, at, ref)
	}
}

// scopesOfOwn asks Delve for the variables of a frame that is lent to it.
func (c *Scopes) scopesOfOwn(ctx context.Context, m *dapwire.Message, at stop.Moment, ref Ref) {
	var body scopesBody
	answer, err := c.lender.InFrame(ctx, m, ref, true)
	if err == nil && answer.Success {
		c.lender.MapReferences(answer, at, ref, "scopes")
		err = answer.Decode("body", &body)
	}
	if err != nil {
		c.wire.Log("scopes: %v", err)
	}
	var out scopesResponse
	for _, raw := range body.Scopes {
		var s dap.Scope
		if json.Unmarshal(raw, &s) == nil && s.Name != registersScope { // ours has no more, and says so
			out.Body.Scopes = append(out.Body.Scopes, raw)
		}
	}
	for _, s := range c.ownScopes(ctx, m, at, ref) {
		if raw, err := json.Marshal(s); err == nil {
			out.Body.Scopes = append(out.Body.Scopes, raw)
		}
	}
	c.wire.Client.Respond(m, &out)
}

// registersScope is also Delve's name for it, with showRegisters.
const registersScope = "Registers"

// scopesOfDelve adds to Delve's scopes. In code without DWARF it has none and
// answers with an error: then there are those that clew has.
func (c *Scopes) scopesOfDelve(ctx context.Context, m *dapwire.Message, at stop.Moment, ref Ref) {
	answer, err := c.wire.Up.Ask(ctx, m)
	if err != nil {
		return
	}
	if !answer.Success {
		if _, stopped := c.program.State.At(); stopped && !strings.Contains(string(answer.Bytes()), internals.RunningText) {
			c.wire.Client.Respond(m, &dap.ScopesResponse{Body: dap.ScopesResponseBody{Scopes: c.ownScopes(ctx, m, at, ref)}})
			return
		}
		c.wire.Client.Send(answer)
		return
	}
	var out scopesResponse
	if answer.Decode("body", &out.Body) == nil {
		if raw, err := json.Marshal(c.unwindScope(at, ref)); err == nil {
			out.Body.Scopes = append(out.Body.Scopes, raw)
			c.wire.Client.Respond(m, &out)
			return
		}
	}
	c.wire.Client.Send(answer)
}

// ownScopes are the scopes of a frame that Delve has no scopes for.
func (c *Scopes) ownScopes(ctx context.Context, m *dapwire.Message, at stop.Moment, ref Ref) []dap.Scope {
	var out []dap.Scope
	if vars := c.registers(ctx, m, ref); len(vars) > 0 {
		out = append(out, dap.Scope{Name: registersScope, PresentationHint: "registers", VariablesReference: c.ids.MintVars(at.Epoch, Held{Vars: vars})})
	}
	return append(out, c.unwindScope(at, ref))
}

// registers gives a frame's registers.
func (c *Scopes) registers(ctx context.Context, m *dapwire.Message, ref Ref) []dap.Variable {
	regs := ref.stack.stack.Frames[ref.frame].Registers
	err := c.program.AtStop(ctx, m.Seq, func(ctx context.Context, v *debuggee.View) error {
		_, all, err := c.lender.recovered(ctx, v, ref)
		if err == nil {
			regs = all
		}
		return err
	})
	if err != nil {
		c.wire.Log("registers: %v", err)
	}
	arch := ref.stack.found.Arch
	var out []dap.Variable
	for reg, value := range regs.All() {
		out = append(out, dap.Variable{Name: arch.RegisterName(reg), Value: fmt.Sprintf("%#x", value)})
	}
	return out
}

// unwindScope says how a frame was found.
func (c *Scopes) unwindScope(at stop.Moment, ref Ref) dap.Scope {
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
	switch {
	case f.TailCall:
		add("tail call", "true")
	case f.Inlined:
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
	return dap.Scope{Name: "Unwind", VariablesReference: c.ids.MintVars(at.Epoch, Held{Vars: vars}), Expensive: true}
}

func rejection(r *unwind.Rejection) string {
	s := r.Strategy + ": " + r.Reason
	if r.PC != 0 {
		s += fmt.Sprintf(" (pc=%#x, cfa=%#x)", r.PC, r.CFA)
	}
	return s
}
