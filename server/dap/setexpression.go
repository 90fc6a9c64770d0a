package dap

import (
	"context"
	"errors"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dapwire"
)

var errNoAddress = errors.New("the expression names nothing that can be assigned to")

// onSetExpression assigns to whatever an expression names. Delve assigns to a variable that it has listed: to what the
// expression's address points to.
func (v *variables) onSetExpression(ctx context.Context, m *dapwire.Message) error {
	var args dap.SetExpressionArguments
	if m.Decode("arguments", &args) != nil {
		v.wire.Up.Forward(m, nil)
		return nil
	}
	if native, err := v.native.onSetExpression(ctx, m, &args); native || err != nil {
		return err
	}
	answer, err := v.askAbout(ctx, args.FrameId, &dap.EvaluateRequest{
		Request: dap.Request{Command: "evaluate"}, Arguments: dap.EvaluateArguments{Expression: "&(" + args.Expression + ")", FrameId: args.FrameId, Context: "watch"},
	}, true)
	if err != nil {
		return err
	}
	var pointer dap.EvaluateResponseBody
	if answer.Success && answer.Decode("body", &pointer) == nil {
		reference := pointer.VariablesReference
		held := v.held(ctx, reference)
		switch {
		case len(held) != 1:
			return errNoAddress
		case args.FrameId >= debuggee.FirstID && held[0].Type == "string":
			return errNewString
		}
		defer v.run.wrote()
		answer, err = v.askAbout(ctx, args.FrameId, &dap.SetVariableRequest{
			Request: dap.Request{Command: "setVariable"}, Arguments: dap.SetVariableArguments{VariablesReference: reference, Name: held[0].Name, Value: args.Value},
		}, false)
		if err != nil {
			return err
		}
	}
	answer.SetRequestSeq(m.Seq)
	answer.Set("command", []byte(`"setExpression"`))
	v.wire.Client.Send(answer)
	return nil
}

// askAbout has Delve answer a request of clew's own about a frame, which is inserted where only clew knows it. With named
// set, the request names the frame.
func (v *variables) askAbout(ctx context.Context, frame int, request dap.RequestMessage, named bool) (*dapwire.Message, error) {
	if frame < debuggee.FirstID {
		return v.wire.Up.Inject(ctx, request)
	}
	about, err := dapwire.NewRequest(&dap.ScopesRequest{Request: dap.Request{Command: "scopes"}, Arguments: dap.ScopesArguments{FrameId: frame}})
	if err != nil {
		return nil, err
	}
	_, ref, _, err := v.inserter.FrameOf(about)
	if err != nil {
		return nil, err
	}
	m, err := dapwire.NewRequest(request)
	if err != nil {
		return nil, err
	}
	return v.inserter.InFrame(ctx, m, ref, named)
}
