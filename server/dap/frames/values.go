package frames

import (
	"context"
	"fmt"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/server/values"
)

// NativeFrame returns a frame of native code for its variables; native is false for Go's frames, which Delve
// answers about. The error says why a native frame has no variables.
func (l *Inserter) NativeFrame(ctx context.Context, v *debuggee.View, ref Ref) (f *values.Frame, native bool, err error) {
	if ref.frame < 0 {
		return nil, false, nil
	}
	if frame := &ref.stack.stack.Frames[ref.frame]; v.IsGo(frame) {
		return nil, false, nil
	}
	if err := l.program.Prepare(ctx, v); err != nil {
		return nil, true, err
	}
	stack, err := v.Values(ctx, v.Prepared, ref.stack.found)
	if err != nil {
		return nil, true, err
	}
	f, err = stack.Frame(ref.frame)
	return f, true, err
}

// scopesOfNative answers with the scopes of a native frame; it returns false for Go's.
func (c *Scopes) scopesOfNative(ctx context.Context, m *dapwire.Message, at stop.Moment, ref Ref) bool {
	var own []dap.Scope
	native := false
	err := c.program.AtStop(ctx, m.Seq, func(ctx context.Context, v *debuggee.View) error {
		f, is, err := c.inserter.NativeFrame(ctx, v, ref)
		native = is
		if !is {
			return nil
		}
		if err == nil {
			err = f.Lack()
		}
		if err != nil {
			held := Held{Vars: []dap.Variable{{Name: "…", Value: values.Unknown(err)}}}
			own = append(own, dap.Scope{Name: "Locals", PresentationHint: "locals", VariablesReference: c.ids.MintVars(at.Epoch, held)})
			return nil
		}
		own = append(own, c.scopeOf(at, ref, "Arguments", "arguments", f, (*values.Frame).Arguments),
			c.scopeOf(at, ref, "Locals", "locals", f, (*values.Frame).Locals),
			dap.Scope{
				Name: "Statics", Expensive: true,
				VariablesReference: c.ids.MintVars(at.Epoch, Held{Values: &Values{Frame: ref, list: (*values.Frame).Statics}}),
			})
		return nil
	})
	if err != nil && !native {
		c.wire.Log("scopes: %v", err)
		return false
	}
	if native {
		c.respond(m, nil, append(own, c.clewScopes(ctx, m, at, ref)...))
	}
	return native
}

// scopeOf is a scope of a native frame.
func (c *Scopes) scopeOf(at stop.Moment, ref Ref, name, hint string, f *values.Frame, list func(*values.Frame) ([]*values.Value, error)) dap.Scope {
	all, err := list(f)
	held := Held{Values: &Values{Frame: ref, all: all}}
	if err != nil {
		held = Held{Vars: []dap.Variable{{Name: "…", Value: values.Unknown(err)}}}
	}
	return dap.Scope{Name: name, PresentationHint: hint, NamedVariables: len(all), VariablesReference: c.ids.MintVars(at.Epoch, held)}
}

// Values are those of a native frame that a reference stands for: a list of them, or what one holds.
type Values struct {
	Frame Ref
	all   []*values.Value
	list  func(*values.Frame) ([]*values.Value, error) // finds them when they are asked for
	of    *values.Value
}

const (
	// maxRows is how many elements a client gets that does not ask for a page.
	maxRows = 200
	// pagedFrom is how many elements make a client ask for pages.
	pagedFrom = 100
)

// Page returns the values that a request asks for.
func (h *Values) Page(f *values.Frame, filter string, start, count int) (out []*values.Value, err error) {
	if h.list != nil && h.all == nil {
		if h.all, err = h.list(f); err != nil {
			return nil, err
		}
	}
	if h.of == nil {
		if filter == "indexed" {
			return nil, nil
		}
		return within(h.all, start, count), nil
	}
	if filter != "indexed" {
		out = within(h.of.Named(), start, count)
	}
	if filter != "named" {
		if count <= 0 || count > maxRows {
			count = maxRows
		}
		out = append(out, h.of.Indexed(max(start, 0), count)...)
	}
	return out, nil
}

// within returns count values from start on; a count of 0 is all.
func within(all []*values.Value, start, count int) []*values.Value {
	all = all[min(max(start, 0), len(all)):]
	if count > 0 {
		all = all[:min(count, len(all))]
	}
	return all
}

// Find returns the value with a name.
func (h *Values) Find(f *values.Frame, name string) (*values.Value, error) {
	all, err := h.Page(f, "named", 0, 0)
	if err != nil {
		return nil, err
	}
	var i int
	if n, err := fmt.Sscanf(name, "[%d]", &i); h.of != nil && n == 1 && err == nil {
		all = h.of.Indexed(i, 1)
	}
	for i := len(all) - 1; i >= 0; i-- { // of variables that hide others the last counts
		if shownName(all[i]) == name {
			return all[i], nil
		}
	}
	return nil, nil
}

// shownName marks a variable that another hides, as Delve does.
func shownName(v *values.Value) string {
	if v.Shadowed {
		return "(" + v.Name + ")"
	}
	if v.Name == "" {
		return "{…}"
	}
	return v.Name
}

// Variable is a value as a client shows it.
func (f *IDs) Variable(epoch uint64, ref Ref, v *values.Value) dap.Variable {
	out := dap.Variable{Name: shownName(v), Value: v.Text(), Type: v.Type(), EvaluateName: v.Path}
	if addr, ok := v.Address(); ok {
		out.MemoryReference = hexOf(addr)
	}
	count := v.Counts()
	if count.Named == 0 && count.Indexed == 0 {
		return out
	}
	out.VariablesReference = f.MintVars(epoch, Held{Values: &Values{Frame: ref, of: v}})
	if count.Indexed > pagedFrom {
		out.IndexedVariables, out.NamedVariables = count.Indexed, count.Named
	}
	return out
}
