package dap

import (
	"context"

	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/stop"
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

// onVariables gives the contents of our own scopes, and has Delve give those of
// frames that are lent to it.
func (p *Proxy) onVariables(_ context.Context, m *dapwire.Message) {
	var args reference
	if m.Decode("arguments", &args) != nil || args.VariablesReference < FirstID {
		p.pass(m, nil)
		return
	}
	at, h, ok := p.heldBy(m, args.VariablesReference, errVariables, "Unable to lookup variable")
	if !ok {
		return
	}
	if h.delve != 0 { // Delve has loaded them, or knows their addresses
		setArgument(m, "variablesReference", h.delve)
		p.pass(m, func(answer *dapwire.Message) { p.mapReferences(answer, at, h.frame, "variables") })
		return
	}
	vars := h.vars
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

// heldBy finds what a variable reference of ours stands for; ok is false where
// the request was refused.
func (p *Proxy) heldBy(m *dapwire.Message, id int64, errorID int, message string) (at stop.Moment, h held, ok bool) {
	at, stopped := p.state.at()
	if !stopped {
		p.refuse(m, errorID, message, "debuggee is running")
		return at, h, false
	}
	h, err := p.frames.variables(at, id)
	if err != nil {
		p.refuse(m, errorID, message, err.Error())
		return at, h, false
	}
	return at, h, true
}

// onSetVariable has Delve set a variable of a frame that is lent to it, and
// refuses to change what is ours to show only.
func (p *Proxy) onSetVariable(ctx context.Context, m *dapwire.Message) {
	const message = "Unable to set variable"
	var args struct {
		VariablesReference int64  `json:"variablesReference"`
		Name               string `json:"name"`
	}
	if m.Decode("arguments", &args) != nil || args.VariablesReference < FirstID {
		p.onWrite(ctx, m)
		return
	}
	at, h, ok := p.heldBy(m, args.VariablesReference, errSetVariable, message)
	if !ok {
		return
	}
	if h.delve == 0 {
		p.refuse(m, errSetVariable, message, "what clew has recovered cannot be changed")
		return
	}
	if p.isString(ctx, h.delve, args.Name) {
		p.refuse(m, errSetVariable, message, "for a new string the program would have to run, which it cannot from a frame that clew has recovered")
		return
	}
	setArgument(m, "variablesReference", h.delve)
	answer, err := p.inFrame(ctx, m, h.frame, false)
	p.wrote()
	if err != nil {
		p.refuse(m, errSetVariable, message, err.Error())
		return
	}
	p.mapReferences(answer, at, h.frame, "")
	p.client.send(answer)
}

// isString says that a variable is a string of Go's: Delve has the program
// allocate a new one.
func (p *Proxy) isString(ctx context.Context, reference int64, name string) bool {
	answer, err := p.up.inject(ctx, "variables", map[string]int64{"variablesReference": reference})
	if err != nil {
		return false
	}
	var body struct {
		Variables []struct{ Name, Type string }
	}
	if answer.Decode("body", &body) != nil {
		return false
	}
	for _, v := range body.Variables {
		if v.Name == name && v.Type == "string" {
			return true
		}
	}
	return false
}

// onEvaluate lends Delve a frame that it does not know: it would take the
// innermost frame instead, and give another variable of that name. Delve's console
// commands are about no frame.
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
		p.evaluateInOwn(ctx, m, args.Expression)
		return
	}
	p.pass(m, func(answer *dapwire.Message) {
		if calls(args.Expression) {
			p.wrote()
		}
		if answer.Success && p.config.hear(args.Expression) {
			p.state.writes() // frames that were kept have other paths
		}
	})
}

// evaluateInOwn evaluates an expression in a frame that is lent to Delve. A call
// would have to start from the innermost frame.
func (p *Proxy) evaluateInOwn(ctx context.Context, m *dapwire.Message, expression string) {
	const message = "Unable to evaluate expression"
	at, ref, _, ok := p.frameOf(m, errEvaluate, message)
	if !ok {
		return
	}
	if calls(expression) {
		p.refuse(m, errEvaluate, message, "calls are made from the innermost frame, not from one that clew has recovered")
		return
	}
	answer, err := p.inFrame(ctx, m, ref, true)
	if err != nil {
		p.refuse(m, errEvaluate, message, err.Error())
		return
	}
	p.mapReferences(answer, at, ref, "")
	p.client.send(answer)
}

// onDataBreakpointInfo refuses expressions in frames that Delve does not know:
// they would be evaluated later, when the frame is lent no more. A variable is
// known by its address.
func (p *Proxy) onDataBreakpointInfo(_ context.Context, m *dapwire.Message) {
	const message = "Could not get data breakpoint info"
	var args struct {
		VariablesReference int64 `json:"variablesReference"`
		FrameID            int64 `json:"frameId"`
	}
	switch {
	case m.Decode("arguments", &args) != nil:
	case args.VariablesReference >= FirstID:
		_, h, ok := p.heldBy(m, args.VariablesReference, errDataBreak, message)
		if !ok {
			return
		}
		if h.delve == 0 {
			p.refuse(m, errDataBreak, message, "this is no variable of the program, which clew has recovered")
			return
		}
		setArgument(m, "variablesReference", h.delve)
	case args.VariablesReference == 0 && args.FrameID >= FirstID:
		p.refuse(m, errDataBreak, message, "in a frame that clew has recovered data breakpoints are set on the variables in its scopes")
		return
	}
	p.pass(m, nil)
}
