package dap

import (
	"context"

	"github.com/clewdbg/clew/server/dapwire"
)

// variable is a variable of ours.
type variable struct {
	Name               string `json:"name"`
	Value              string `json:"value"`
	VariablesReference int    `json:"variablesReference"`
}

type reference struct {
	VariablesReference int64  `json:"variablesReference"`
	Start              int    `json:"start"`
	Count              int    `json:"count"`
	Filter             string `json:"filter"`
}

// onVariables gives the contents of our own scopes.
func (p *Proxy) onVariables(_ context.Context, m *dapwire.Message) {
	var args reference
	if m.Decode("arguments", &args) != nil || args.VariablesReference < FirstID {
		p.pass(m, nil)
		return
	}
	at, stopped := p.state.at()
	if !stopped {
		p.refuse(m, errVariables, "Unable to lookup variable", "debuggee is running")
		return
	}
	vars, err := p.frames.variables(at, args.VariablesReference)
	if err != nil {
		p.refuse(m, errVariables, "Unable to lookup variable", err.Error())
		return
	}
	if args.Filter == "indexed" {
		vars = nil // all of ours have names
	}
	if args.Start > 0 || args.Count > 0 {
		start := min(max(args.Start, 0), len(vars))
		end := len(vars)
		if args.Count > 0 && args.Count < end-start {
			end = start + args.Count
		}
		vars = vars[start:end]
	}
	if vars == nil {
		vars = []variable{}
	}
	p.respond(m, map[string]any{"variables": vars})
}

// onSetVariable refuses to change what is ours to show only.
func (p *Proxy) onSetVariable(ctx context.Context, m *dapwire.Message) {
	var args reference
	if m.Decode("arguments", &args) == nil && args.VariablesReference >= FirstID {
		p.refuse(m, errSetVariable, "Unable to set variable", "what clew has recovered cannot be changed")
		return
	}
	p.onWrite(ctx, m)
}

// onEvaluate refuses expressions in frames that Delve does not know: it would
// take the innermost frame instead, and give another variable of that name.
// Delve's console commands are about no frame.
func (p *Proxy) onEvaluate(ctx context.Context, m *dapwire.Message) {
	var args struct {
		Expression string `json:"expression"`
		FrameID    int64  `json:"frameId"`
	}
	if m.Decode("arguments", &args) != nil {
		p.pass(m, nil)
		return
	}
	if isConsoleCommand(args.Expression) {
		p.withoutFrame(m, args.FrameID)
	} else if args.FrameID >= FirstID {
		if _, _, _, ok := p.frameOf(m, errEvaluate, "Unable to evaluate expression"); ok {
			p.refuse(m, errEvaluate, "Unable to evaluate expression", errOwnFrame)
		}
		return
	}
	p.pass(m, func(answer *dapwire.Message) {
		if calls(args.Expression) {
			p.state.writes()
		}
		if answer.Success {
			p.config.hear(args.Expression)
		}
	})
}

const errOwnFrame = "Delve does not know this frame, which clew has recovered: its registers are in its scopes, its variables are not to be had"

// onDataBreakpointInfo refuses expressions in frames that Delve does not know,
// and variables of ours.
func (p *Proxy) onDataBreakpointInfo(_ context.Context, m *dapwire.Message) {
	var args struct {
		VariablesReference int64 `json:"variablesReference"`
		FrameID            int64 `json:"frameId"`
	}
	if m.Decode("arguments", &args) == nil && (args.FrameID >= FirstID || args.VariablesReference >= FirstID) {
		p.refuse(m, errDataBreak, "Could not get data breakpoint info", errOwnFrame)
		return
	}
	p.pass(m, nil)
}
