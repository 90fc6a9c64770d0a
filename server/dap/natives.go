package dap

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/frames"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/server/values"
)

// natives answers about values of native code: Delve reads those of Go alone.
type natives struct {
	wire     *wire.Bridge
	program  *debuggee.Program
	ids      *frames.IDs
	inserter *frames.Inserter
	wrote    func() // is called when the program's memory was changed
}

var (
	errNativeCall = errors.New("a call would run code of the program, which is not done in a frame of native code")
	errNoValue    = errors.New("there is no such value")
)

// inFrame does work in a native frame; native is false for others, in which it is not done.
func (n *natives) inFrame(ctx context.Context, seq int64, ref frames.Ref, work func(*values.Frame) error) (native bool, err error) {
	if n == nil {
		return false, nil
	}
	err = n.program.AtStop(ctx, seq, func(ctx context.Context, v *debuggee.View) error {
		f, is, err := n.inserter.NativeFrame(ctx, v, ref)
		native = is
		switch {
		case !is:
			return nil
		case err != nil:
			return fmt.Errorf("this frame has no variables here: %w", err)
		}
		return work(f)
	})
	if !native {
		return false, nil // Delve's own answer has to suffice
	}
	return true, err
}

// frameOf finds a frame by its ID, of clew's or of Delve's.
func (n *natives) frameOf(id int) (at stop.Moment, ref frames.Ref, ok bool) {
	if n == nil || id == 0 {
		return at, ref, false
	}
	at, stopped := n.program.State.At()
	if !stopped {
		return at, ref, false
	}
	ref, known, err := n.ids.Find(at, int64(id))
	return at, ref, known && err == nil
}

// names are those of a native frame's variables, or of what an expression's value holds or points to.
func (n *natives) names(ctx context.Context, frame int, base string) (out []proposal, native bool) {
	_, ref, ok := n.frameOf(frame)
	if !ok {
		return nil, false
	}
	native, err := n.inFrame(ctx, 0, ref, func(f *values.Frame) error {
		found, err := f.Names(base)
		kind := dap.CompletionItemType("variable")
		if base != "" {
			kind = "field"
		}
		for _, name := range found {
			out = append(out, proposal{name, kind})
		}
		return err
	})
	if err != nil {
		n.wire.Log("completions: %v", err)
	}
	return out, native
}

// onVariables returns what a value or a scope holds.
func (n *natives) onVariables(ctx context.Context, m *dapwire.Message, at stop.Moment, h *frames.Values, args *dap.VariablesArguments) error {
	vars := []dap.Variable{}
	_, err := n.inFrame(ctx, m.Seq, h.Frame, func(f *values.Frame) error {
		all, err := h.Page(f, args.Filter, args.Start, args.Count)
		if err != nil {
			return err
		}
		for _, v := range all {
			vars = append(vars, n.ids.Variable(at.Epoch, h.Frame, v))
		}
		return nil
	})
	if err != nil {
		return err
	}
	n.wire.Client.Respond(m, dap.VariablesResponseBody{Variables: vars})
	return nil
}

// onEvaluate evaluates an expression in a native frame.
func (n *natives) onEvaluate(ctx context.Context, m *dapwire.Message, args *dap.EvaluateArguments) (native bool, err error) {
	at, ref, ok := n.frameOf(args.FrameId)
	if !ok {
		return false, nil
	}
	var out dap.EvaluateResponseBody
	native, err = n.inFrame(ctx, m.Seq, ref, func(f *values.Frame) error {
		if internals.Call.MatchString(args.Expression) {
			return errNativeCall
		}
		v, err := f.Evaluate(args.Expression)
		if err != nil {
			return err
		}
		one := n.ids.Variable(at.Epoch, ref, v)
		out = dap.EvaluateResponseBody{
			Result: one.Value, Type: one.Type, VariablesReference: one.VariablesReference, NamedVariables: one.NamedVariables,
			IndexedVariables: one.IndexedVariables, MemoryReference: one.MemoryReference,
		}
		return nil
	})
	if native && err == nil {
		n.wire.Client.Respond(m, out)
	}
	if values.OfGo(args.Expression, err) {
		return false, nil
	}
	return native, err
}

// onSetVariable writes a value.
func (n *natives) onSetVariable(ctx context.Context, m *dapwire.Message, at stop.Moment, h *frames.Values, args *dap.SetVariableArguments) error {
	var out dap.SetVariableResponseBody
	_, err := n.inFrame(ctx, m.Seq, h.Frame, func(f *values.Frame) error {
		v, err := h.Find(f, args.Name)
		if err != nil {
			return err
		}
		if v == nil {
			return errNoValue
		}
		if err := f.Set(v, args.Value); err != nil {
			return err
		}
		one := n.ids.Variable(at.Epoch, h.Frame, v)
		out = dap.SetVariableResponseBody{Value: one.Value, Type: one.Type}
		return nil
	})
	if err != nil {
		return err
	}
	n.wrote()
	n.wire.Client.Respond(m, out)
	return nil
}

// onSetExpression writes what an expression names.
func (n *natives) onSetExpression(ctx context.Context, m *dapwire.Message, args *dap.SetExpressionArguments) (native bool, err error) {
	at, ref, ok := n.frameOf(args.FrameId)
	if !ok {
		return false, nil
	}
	var out dap.SetExpressionResponseBody
	native, err = n.inFrame(ctx, m.Seq, ref, func(f *values.Frame) error {
		v, err := f.Evaluate(args.Expression)
		if err != nil {
			return err
		}
		if err := f.Set(v, args.Value); err != nil {
			return err
		}
		one := n.ids.Variable(at.Epoch, ref, v)
		out = dap.SetExpressionResponseBody{Value: one.Value, Type: one.Type}
		return nil
	})
	if native && err == nil {
		n.wrote()
		n.wire.Client.Respond(m, out)
	}
	return native, err
}

// onDataBreakpointInfo says whether a value can be watched.
func (n *natives) onDataBreakpointInfo(ctx context.Context, m *dapwire.Message, h *frames.Values, name string) error {
	_, err := n.inFrame(ctx, m.Seq, h.Frame, func(f *values.Frame) error {
		v, err := h.Find(f, name)
		if err != nil {
			return err
		}
		if v == nil {
			return errNoValue
		}
		return n.watch(m, v, name)
	})
	return err
}

// onWatchExpression says whether what an expression names can be watched.
func (n *natives) onWatchExpression(ctx context.Context, m *dapwire.Message, args *dap.DataBreakpointInfoArguments) (native bool, err error) {
	_, ref, ok := n.frameOf(args.FrameId)
	if !ok {
		return false, nil
	}
	native, err = n.inFrame(ctx, m.Seq, ref, func(f *values.Frame) error {
		v, err := f.Evaluate(args.Name)
		if err != nil {
			return err
		}
		return n.watch(m, v, args.Name)
	})
	if values.OfGo(args.Name, err) {
		return false, nil
	}
	return native, err
}

// watch answers with what Delve can watch: the memory of a value.
func (n *natives) watch(m *dapwire.Message, v *values.Value, name string) error {
	addr, size, err := v.Watchable()
	if err != nil {
		return err
	}
	n.wire.Client.Respond(m, dap.DataBreakpointInfoResponseBody{
		DataId: "-1,0," + values.GoExpression(addr, size), Description: name,
		AccessTypes: []dap.DataBreakpointAccessType{"read", "write", "readWrite"}, // Delve's
	})
	return nil
}
