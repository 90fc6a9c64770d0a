package dap

import (
	"context"
	"regexp"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/frames"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/stop"
)

// variables handles the requests about variables and expressions.
type variables struct {
	wire   *wire.Bridge
	state  *debuggee.State
	frames *frames.IDs
	config *debuggee.Config
	lender lender
	run    *running
}

// lender has Delve answer about frames that only clew knows.
type lender interface {
	// FrameOf finds the frame that a request is about; see [frames.Lender.FrameOf].
	FrameOf(m *dapwire.Message, id int, message string) (at stop.Moment, ref frames.Ref, known, ok bool)
	// InFrame has Delve answer a request about a frame; see [frames.Lender.InFrame].
	InFrame(ctx context.Context, m *dapwire.Message, ref frames.Ref, named bool) (answer *dapwire.Message, err error)
	// MapReferences replaces Delve's references in an answer; see [frames.Lender.MapReferences].
	MapReferences(answer *dapwire.Message, at stop.Moment, ref frames.Ref, list string)
}

// onVariables returns the contents of clew's own scopes, and has Delve return those of
// frames that are lent to it.
func (v *variables) onVariables(_ context.Context, m *dapwire.Message) {
	var args struct { // what is malformed elsewhere is for Delve to refuse
		VariablesReference int64  `json:"variablesReference"`
		Filter             string `json:"filter"`
		Start              int    `json:"start"`
		Count              int    `json:"count"`
	}
	if m.Decode("arguments", &args) != nil || args.VariablesReference < debuggee.FirstID {
		v.wire.Up.Forward(m, nil)
		return
	}
	at, h, ok := v.heldBy(m, args.VariablesReference, wire.VariablesFailed, "Unable to lookup variable")
	if !ok {
		return
	}
	if h.Delve != 0 { // Delve has loaded them, or knows their addresses
		wire.SetArgument(m, "variablesReference", h.Delve)
		v.wire.Up.Forward(m, func(answer *dapwire.Message) { v.lender.MapReferences(answer, at, h.Frame, "variables") })
		return
	}
	vars := []dap.Variable{}
	if args.Filter != "indexed" { // all of clew's have names
		vars = append(vars, pageOf(h.Vars, args.Start, args.Count)...)
	}
	v.wire.Client.Respond(m, &dap.VariablesResponse{Body: dap.VariablesResponseBody{Variables: vars}})
}

// pageOf returns count variables from start on; a count of 0 is all.
func pageOf(vars []dap.Variable, start, count int) []dap.Variable {
	vars = vars[min(max(start, 0), len(vars)):]
	if count > 0 {
		vars = vars[:min(count, len(vars))]
	}
	return vars
}

// heldBy finds what a variable reference of clew's stands for; ok is false if the request
// was refused.
func (v *variables) heldBy(m *dapwire.Message, id int64, errorID int, message string) (at stop.Moment, h frames.Held, ok bool) {
	at, stopped := v.state.At()
	if !stopped {
		v.wire.Client.Refuse(m, errorID, message, "debuggee is running")
		return at, h, false
	}
	h, err := v.frames.Variables(at, id)
	if err != nil {
		v.wire.Client.Refuse(m, errorID, message, err.Error())
		return at, h, false
	}
	return at, h, true
}

// onSetVariable has Delve set a variable of a frame that is lent to it, and
// refuses to change what is ours to show only.
func (v *variables) onSetVariable(ctx context.Context, m *dapwire.Message) {
	const message = "Unable to set variable"
	var args struct {
		VariablesReference int64  `json:"variablesReference"`
		Name               string `json:"name"`
	}
	if m.Decode("arguments", &args) != nil || args.VariablesReference < debuggee.FirstID {
		v.run.onWrite(ctx, m)
		return
	}
	at, h, ok := v.heldBy(m, args.VariablesReference, wire.SetVariableFailed, message)
	if !ok {
		return
	}
	if h.Delve == 0 {
		v.wire.Client.Refuse(m, wire.SetVariableFailed, message, "what clew has recovered cannot be changed")
		return
	}
	if v.isString(ctx, h.Delve, args.Name) {
		v.wire.Client.Refuse(m, wire.SetVariableFailed, message, "for a new string the program would have to run, which it cannot from a frame that clew has recovered")
		return
	}
	wire.SetArgument(m, "variablesReference", h.Delve)
	answer, err := v.lender.InFrame(ctx, m, h.Frame, false)
	v.run.wrote()
	if err != nil {
		v.wire.Client.Refuse(m, wire.SetVariableFailed, message, err.Error())
		return
	}
	v.lender.MapReferences(answer, at, h.Frame, "")
	v.wire.Client.Send(answer)
}

// isString says that a variable is a string of Go's: Delve has the program
// allocate a new one.
func (v *variables) isString(ctx context.Context, reference int64, name string) bool {
	answer, err := v.wire.Up.Inject(ctx, &dap.VariablesRequest{
		Request: dap.Request{Command: "variables"}, Arguments: dap.VariablesArguments{VariablesReference: int(reference)},
	})
	if err != nil {
		return false
	}
	var body struct {
		Variables []struct{ Name, Type string }
	}
	if answer.Decode("body", &body) != nil {
		return false
	}
	for _, one := range body.Variables {
		if one.Name == name && one.Type == "string" {
			return true
		}
	}
	return false
}

// evaluateArguments are those of an evaluate request, as far as clew reads them.
type evaluateArguments struct {
	Expression string `json:"expression"`
	FrameID    int64  `json:"frameId"`
}

var consoleCommand = regexp.MustCompile(`^\s*dlv\s+\S+`)

// isConsoleCommand says that Delve takes an expression for a command of its console.
func isConsoleCommand(expression string) bool { return consoleCommand.MatchString(expression) }

var call = regexp.MustCompile(`^\s*call\s+\S+`)

// calls says that Delve takes an expression for one that lets the program run a function,
// or assigns. All others only read.
func calls(expression string) bool { return call.MatchString(expression) }

// onEvaluate lends Delve a frame that it does not know: it would take the
// innermost frame instead, and return another variable of that name. Delve's console
// commands are about no frame.
func (v *variables) onEvaluate(ctx context.Context, m *dapwire.Message) {
	var args evaluateArguments
	if m.Decode("arguments", &args) != nil {
		v.wire.Up.Forward(m, nil)
		return
	}
	if isConsoleCommand(args.Expression) {
		if args.FrameID >= debuggee.FirstID {
			wire.SetArgument(m, "frameId", int64(0)) // Delve does not know it
		}
	} else if args.FrameID >= debuggee.FirstID {
		v.evaluateInOwn(ctx, m, args.Expression)
		return
	}
	v.wire.Up.Forward(m, func(answer *dapwire.Message) {
		if calls(args.Expression) {
			v.run.wrote()
		}
		if answer.Success && v.config.Learn(args.Expression) {
			v.state.Writes() // frames that were kept have other paths
		}
	})
}

// evaluateInOwn evaluates an expression in a frame that is lent to Delve. A call
// would have to start from the innermost frame.
func (v *variables) evaluateInOwn(ctx context.Context, m *dapwire.Message, expression string) {
	const message = "Unable to evaluate expression"
	at, ref, _, ok := v.lender.FrameOf(m, wire.EvaluateFailed, message)
	if !ok {
		return
	}
	if calls(expression) {
		v.wire.Client.Refuse(m, wire.EvaluateFailed, message, "calls are made from the innermost frame, not from one that clew has recovered")
		return
	}
	answer, err := v.lender.InFrame(ctx, m, ref, true)
	if err != nil {
		v.wire.Client.Refuse(m, wire.EvaluateFailed, message, err.Error())
		return
	}
	v.lender.MapReferences(answer, at, ref, "")
	v.wire.Client.Send(answer)
}

// onDataBreakpointInfo refuses expressions in frames that Delve does not know:
// they would be evaluated later, when the frame is lent no more. A variable is
// known by its address.
func (v *variables) onDataBreakpointInfo(_ context.Context, m *dapwire.Message) {
	const message = "Could not get data breakpoint info"
	var args struct {
		VariablesReference int64 `json:"variablesReference"`
		FrameID            int64 `json:"frameId"`
	}
	switch {
	case m.Decode("arguments", &args) != nil:
	case args.VariablesReference >= debuggee.FirstID:
		_, h, ok := v.heldBy(m, args.VariablesReference, wire.DataBreakpointFailed, message)
		if !ok {
			return
		}
		if h.Delve == 0 {
			v.wire.Client.Refuse(m, wire.DataBreakpointFailed, message, "this is no variable of the program, which clew has recovered")
			return
		}
		wire.SetArgument(m, "variablesReference", h.Delve)
	case args.VariablesReference == 0 && args.FrameID >= debuggee.FirstID:
		v.wire.Client.Refuse(m, wire.DataBreakpointFailed, message, "in a frame that clew has recovered data breakpoints are set on the variables in its scopes")
		return
	}
	v.wire.Up.Forward(m, nil)
}
