package frames

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/server/values"
	"github.com/clewdbg/clew/unwind"
)

// scopesBody is [dap.ScopesResponseBody] with scopes of Delve's, whose bytes stay, too.
type scopesBody struct {
	Scopes []json.RawMessage `json:"scopes"`
}

// Scopes handles the requests for what a frame holds.
type Scopes struct {
	session
	inserter *Inserter
}

// OnScopes adds a scope that says how the frame was found. A frame that only
// clew knows has that, its registers, and its variables where DWARF describes them.
func (c *Scopes) OnScopes(ctx context.Context, m *dapwire.Message) error {
	at, ref, known, err := c.inserter.FrameOf(m)
	switch {
	case err != nil:
		return err
	case !known:
		c.wire.Up.Forward(m, nil)
	case ref.frame < 0:
		c.respond(m, []json.RawMessage{}, nil)
	case c.scopesOfNative(ctx, m, at, ref):
	case ref.isClews():
		c.scopesOfClew(ctx, m, at, ref)
	default:
		c.scopesOfDelve(ctx, m, at, ref)
	}
	return nil
}

// respond answers with scopes of Delve's and of clew's.
func (c *Scopes) respond(m *dapwire.Message, delves []json.RawMessage, own []dap.Scope) {
	c.wire.Client.Respond(m, scopesBody{append(delves, rawOf(own)...)})
}

// scopesOfClew asks Delve for the variables of a frame that is inserted into its stack.
func (c *Scopes) scopesOfClew(ctx context.Context, m *dapwire.Message, at stop.Moment, ref Ref) {
	var body scopesBody
	answer, err := c.inserter.InFrame(ctx, m, ref, true)
	if err == nil && answer.Success {
		c.inserter.MapReferences(answer, at, ref, "scopes")
		err = answer.Decode("body", &body)
	}
	if err != nil {
		c.wire.Log("scopes: %v", err)
	}
	c.respond(m, slices.DeleteFunc(body.Scopes, func(raw json.RawMessage) bool {
		var s dap.Scope
		return json.Unmarshal(raw, &s) != nil || s.Name == registersScope // clew has a scope of that name
	}), c.clewScopes(ctx, m, at, ref))
}

// registersScope is also Delve's name for it, with showRegisters.
const registersScope = "Registers"

// scopesOfDelve adds to Delve's scopes. In code without DWARF it has none and
// answers with an error: then there are those that clew has.
func (c *Scopes) scopesOfDelve(ctx context.Context, m *dapwire.Message, at stop.Moment, ref Ref) {
	answer, err := c.wire.Up.Ask(ctx, m)
	if err != nil {
		return // both connections end
	}
	var body scopesBody
	_, stopped := c.program.State.At()
	switch {
	case answer.Success && answer.Decode("body", &body) == nil:
		c.respond(m, body.Scopes, []dap.Scope{c.unwindScope(at, ref)})
	case !answer.Success && stopped && !strings.Contains(string(answer.Bytes()), internals.RunningText):
		c.respond(m, nil, c.clewScopes(ctx, m, at, ref))
	default:
		c.wire.Client.Send(answer)
	}
}

// clewScopes are the scopes of a frame that Delve has no scopes for.
func (c *Scopes) clewScopes(ctx context.Context, m *dapwire.Message, at stop.Moment, ref Ref) []dap.Scope {
	var out []dap.Scope
	if vars := c.registers(ctx, m, ref); len(vars) > 0 {
		out = append(out, dap.Scope{Name: registersScope, PresentationHint: "registers", VariablesReference: c.ids.MintVars(at.Epoch, Held{Vars: vars})})
	}
	return append(out, c.unwindScope(at, ref))
}

// registers returns a frame's registers, and what each rests on.
func (c *Scopes) registers(ctx context.Context, m *dapwire.Message, ref Ref) []dap.Variable {
	var out []dap.Variable
	add := func(v *debuggee.View, name string, value uint64, origin string) {
		one := dap.Variable{Name: name, Value: hexOf(value), Type: origin} // editors show a type as a tooltip
		if v != nil && v.EngineInput().Target.Memory.ReadMemory(value, make([]byte, 1)) == nil {
			one.MemoryReference = one.Value
		}
		out = append(out, one)
	}
	arch := ref.stack.found.Arch
	err := c.program.AtStop(ctx, m.Seq, func(ctx context.Context, v *debuggee.View) error {
		if err := c.program.Prepare(ctx, v); err != nil {
			return err
		}
		if stack, err := v.Values(ctx, v.Prepared, ref.stack.found); err == nil {
			f, err := stack.Frame(ref.frame)
			if err != nil {
				return err
			}
			for _, reg := range f.Registers() {
				if reg.Err != nil {
					out = append(out, dap.Variable{Name: reg.Name, Value: values.Unknown(reg.Err)})
				} else {
					add(v, reg.Name, reg.Value, reg.Origin.String())
				}
			}
			return nil
		}
		_, all, err := c.inserter.recovered(ctx, v, ref)
		for reg, value := range all.All() {
			add(v, arch.RegisterName(reg), value, "")
		}
		return err
	})
	if err != nil {
		c.wire.Log("registers: %v", err)
	}
	if len(out) == 0 {
		for reg, value := range ref.stack.stack.Frames[ref.frame].Registers.All() {
			add(nil, arch.RegisterName(reg), value, "")
		}
	}
	return out
}

// unwindScope says how a frame was found.
func (c *Scopes) unwindScope(at stop.Moment, ref Ref) dap.Scope {
	s := ref.stack
	f := &s.stack.Frames[ref.frame]
	vars := []dap.Variable{
		{Name: "strategy", Value: f.Strategy}, {Name: "trust", Value: f.Trust.String()},
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
		return hexOf(v)
	}
	add("pc", hexOf(f.PC.Raw()))
	add("cfa", hex(f.CFA))
	for i := range vars {
		if name := vars[i].Name; name == "pc" || name == "cfa" {
			vars[i].MemoryReference = vars[i].Value
		}
	}
	add("rule", f.Rule)
	if f.Image != "" {
		add("image", f.Image)
		add("offset", hexOf(f.Offset))
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

func hexOf(v uint64) string { return fmt.Sprintf("%#x", v) }

func rejection(r *unwind.Rejection) string {
	s := r.Strategy + ": " + r.Reason
	if by := r.By(); by != "" {
		s += " (" + by + ")"
	}
	if r.PC != 0 {
		s += fmt.Sprintf(" (pc=%#x, cfa=%#x)", r.PC, r.CFA)
	}
	return s
}
