package dap

import (
	"context"
	"errors"
	"slices"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/frames"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/stop"
)

// variables handles the requests about variables and expressions.
type variables struct {
	wire     *wire.Bridge
	state    *debuggee.State
	frames   *frames.IDs
	config   *debuggee.Config
	inserter inserter
	run      *running
	memory   *memory
	globals  func() []string // names of the program's global variables
	native   *natives        // of frames of native code
}

// inserter has Delve answer about frames that only clew knows.
type inserter interface {
	// FrameOf finds the frame that a request is about; see [frames.Inserter.FrameOf].
	FrameOf(m *dapwire.Message) (at stop.Moment, ref frames.Ref, known bool, err error)
	// InFrame has Delve answer a request about a frame; see [frames.Inserter.InFrame].
	InFrame(ctx context.Context, m *dapwire.Message, ref frames.Ref, named bool) (answer *dapwire.Message, err error)
	// MapReferences replaces Delve's references in an answer; see [frames.Inserter.MapReferences].
	MapReferences(answer *dapwire.Message, at stop.Moment, ref frames.Ref, list string)
}

// onVariables returns the contents of clew's own scopes, and has Delve return those of
// inserted frames.
func (v *variables) onVariables(ctx context.Context, m *dapwire.Message) error {
	var args dap.VariablesArguments
	if m.Decode("arguments", &args) != nil || args.VariablesReference < debuggee.FirstID {
		v.ofDelve(ctx, m, int64(args.VariablesReference), nil)
		return nil
	}
	at, h, err := v.heldBy(args.VariablesReference)
	if err != nil {
		return err
	}
	if h.Values != nil {
		return v.native.onVariables(ctx, m, at, h.Values, &args)
	}
	if h.Delve != 0 { // Delve has loaded them, or knows their addresses
		wire.SetArgument(m, "variablesReference", h.Delve)
		v.ofDelve(ctx, m, h.Delve, func(answer *dapwire.Message) { v.inserter.MapReferences(answer, at, h.Frame, "variables") })
		return nil
	}
	vars := []dap.Variable{}
	if args.Filter != "indexed" { // all of clew's have names
		vars = append(vars, pageOf(h.Vars, args.Start, args.Count)...)
	}
	v.wire.Client.Respond(m, dap.VariablesResponseBody{Variables: vars})
	return nil
}

// ofDelve has Delve return variables, and refers a client that shows memory to theirs. Rewrite, which may be nil,
// changes the answer.
func (v *variables) ofDelve(ctx context.Context, m *dapwire.Message, reference int64, rewrite func(*dapwire.Message)) {
	if !v.memory.caps.SupportsMemoryReferences {
		v.wire.Up.Forward(m, rewrite)
		return
	}
	answer, err := v.wire.Up.Ask(ctx, m)
	if err != nil {
		return // both connections end
	}
	v.memory.refer(ctx, answer, reference)
	if rewrite != nil {
		rewrite(answer)
	}
	v.wire.Client.Send(answer)
}

// pageOf returns count variables from start on; a count of 0 is all.
func pageOf(vars []dap.Variable, start, count int) []dap.Variable {
	vars = vars[min(max(start, 0), len(vars)):]
	if count > 0 {
		vars = vars[:min(count, len(vars))]
	}
	return vars
}

// heldBy finds what a variable reference of clew's stands for.
func (v *variables) heldBy(id int) (at stop.Moment, h frames.Held, err error) {
	at, stopped := v.state.At()
	if !stopped {
		return at, h, frames.ErrRunning
	}
	h, err = v.frames.Variables(at, int64(id))
	return at, h, err
}

var (
	errRecovered = errors.New("what clew has recovered cannot be changed")
	errNewString = errors.New("for a new string the program would have to run, which it cannot from a frame that clew has recovered")
	errCall      = errors.New("calls are made from the innermost frame, not from one that clew has recovered")
	errNoMemory  = errors.New("this is no variable of the program, which clew has recovered")
	errLater     = errors.New("in a frame that clew has recovered data breakpoints are set on the variables in its scopes")
)

// onSetVariable has Delve set a variable of an inserted frame, and refuses to change
// what only clew shows.
func (v *variables) onSetVariable(ctx context.Context, m *dapwire.Message) error {
	var args dap.SetVariableArguments
	if m.Decode("arguments", &args) != nil || args.VariablesReference < debuggee.FirstID {
		return v.run.onWrite(ctx, m)
	}
	at, h, err := v.heldBy(args.VariablesReference)
	switch {
	case err != nil:
		return err
	case h.Values != nil:
		return v.native.onSetVariable(ctx, m, at, h.Values, &args)
	case h.Delve == 0:
		return errRecovered
	case v.isString(ctx, h.Delve, args.Name):
		return errNewString
	}
	wire.SetArgument(m, "variablesReference", h.Delve)
	defer v.run.wrote()
	return v.insert(ctx, m, at, h.Frame, false)
}

// insert has Delve answer a request about a frame; see [frames.Inserter.InFrame].
func (v *variables) insert(ctx context.Context, m *dapwire.Message, at stop.Moment, ref frames.Ref, named bool) error {
	answer, err := v.inserter.InFrame(ctx, m, ref, named)
	if err != nil {
		return err
	}
	v.inserter.MapReferences(answer, at, ref, "")
	v.wire.Client.Send(answer)
	return nil
}

// held are the variables that Delve has by a reference.
func (v *variables) held(ctx context.Context, reference int) []dap.Variable {
	if reference == 0 {
		return nil
	}
	answer, err := v.wire.Up.Inject(ctx, &dap.VariablesRequest{
		Request: dap.Request{Command: "variables"}, Arguments: dap.VariablesArguments{VariablesReference: reference},
	})
	var body dap.VariablesResponseBody
	if err != nil || !answer.Success || answer.Decode("body", &body) != nil {
		return nil
	}
	return body.Variables
}

// isString reports whether a variable is a Go string: Delve has the program allocate a
// new one.
func (v *variables) isString(ctx context.Context, reference int64, name string) bool {
	return slices.ContainsFunc(v.held(ctx, int(reference)), func(one dap.Variable) bool { return one.Name == name && one.Type == "string" })
}

// onEvaluate inserts a frame that Delve does not know: Delve would take the
// innermost frame instead, and return another variable of that name. Delve's console
// commands are about no frame.
func (v *variables) onEvaluate(ctx context.Context, m *dapwire.Message) error {
	var args dap.EvaluateArguments
	decoded := m.Decode("arguments", &args) == nil
	if decoded && !internals.ConsoleCommand.MatchString(args.Expression) {
		if native, err := v.native.onEvaluate(ctx, m, &args); native || err != nil {
			return err
		}
	}
	if decoded && args.FrameId >= debuggee.FirstID {
		if !internals.ConsoleCommand.MatchString(args.Expression) {
			return v.evaluateInserted(ctx, m, args.Expression)
		}
		wire.SetArgument(m, "frameId", int64(0)) // Delve does not know it
	}
	v.wire.Up.Forward(m, func(answer *dapwire.Message) {
		if internals.Call.MatchString(args.Expression) {
			v.run.wrote()
		}
		if answer.Success && v.config.Learn(args.Expression) {
			v.state.Writes() // frames that were kept have other paths
		}
	})
	return nil
}

// evaluateInserted evaluates an expression in an inserted frame. A call would have to
// start from the innermost frame.
func (v *variables) evaluateInserted(ctx context.Context, m *dapwire.Message, expression string) error {
	at, ref, _, err := v.inserter.FrameOf(m)
	switch {
	case err != nil:
		return err
	case internals.Call.MatchString(expression):
		return errCall
	}
	return v.insert(ctx, m, at, ref, true)
}

// onDataBreakpointInfo refuses expressions in frames that Delve does not know:
// they would be evaluated later, when the frame is inserted no more. A variable is
// known by its address.
func (v *variables) onDataBreakpointInfo(ctx context.Context, m *dapwire.Message) error {
	var args dap.DataBreakpointInfoArguments
	switch {
	case m.Decode("arguments", &args) != nil:
	case args.VariablesReference >= debuggee.FirstID:
		_, h, err := v.heldBy(args.VariablesReference)
		switch {
		case err != nil:
			return err
		case h.Values != nil:
			return v.native.onDataBreakpointInfo(ctx, m, h.Values, args.Name)
		case h.Delve == 0:
			return errNoMemory
		}
		wire.SetArgument(m, "variablesReference", h.Delve)
	case args.VariablesReference == 0:
		if native, err := v.native.onWatchExpression(ctx, m, &args); native {
			return err
		}
		if args.FrameId >= debuggee.FirstID {
			return errLater
		}
	}
	v.wire.Up.Forward(m, nil)
	return nil
}
