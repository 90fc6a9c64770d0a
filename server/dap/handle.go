package dap

import (
	"context"
	"errors"

	"github.com/clewdbg/clew/server/dapwire"
)

// handlers are the requests that do not just pass.
var handlers = map[string]func(*Proxy, context.Context, *dapwire.Message){
	"initialize":         (*Proxy).onInitialize,
	"launch":             (*Proxy).onLaunch,
	"attach":             (*Proxy).onAttach,
	"restart":            (*Proxy).onRestart,
	"configurationDone":  (*Proxy).onResume,
	"continue":           (*Proxy).onResume,
	"next":               (*Proxy).onStep,
	"stepIn":             (*Proxy).onStep,
	"stepOut":            (*Proxy).onStep,
	"stepBack":           (*Proxy).onStep,
	"reverseContinue":    (*Proxy).onResume,
	"goto":               (*Proxy).onResume,
	"restartFrame":       (*Proxy).onResume,
	"threads":            (*Proxy).onThreads,
	"stackTrace":         (*Proxy).onStackTrace,
	"clew/stack":         (*Proxy).onClewStack,
	"clew/export":        (*Proxy).onClewExport,
	"clew/images":        (*Proxy).onClewImages,
	"clew/plugins":       (*Proxy).onClewPlugins,
	"clew/reunwind":      (*Proxy).onClewReunwind,
	"scopes":             (*Proxy).onScopes,
	"variables":          (*Proxy).onVariables,
	"setVariable":        (*Proxy).onSetVariable,
	"setExpression":      (*Proxy).onEvaluate,
	"evaluate":           (*Proxy).onConsole,
	"completions":        (*Proxy).onCompletions,
	"writeMemory":        (*Proxy).onWrite,
	"dataBreakpointInfo": (*Proxy).onDataBreakpointInfo,
	"exceptionInfo":      (*Proxy).onExceptionInfo,
}

// handle handles one message of the client's.
func (p *Proxy) handle(ctx context.Context, m *dapwire.Message) {
	if m.Type != dapwire.TypeRequest {
		if m.Type == dapwire.TypeResponse {
			p.client.answers(m)
		}
		_ = p.up.pass(m)
		return
	}
	if own, ok := p.requests.context(m.Seq); ok {
		ctx = own
		defer p.requests.done(m.Seq)
	}
	if h := handlers[m.Command]; h != nil && !p.passes.Load() {
		h(p, ctx, m)
		return
	}
	p.pass(m, nil)
}

// pass passes a request to Delve. That the connection is gone is noticed where
// it is read.
func (p *Proxy) pass(m *dapwire.Message, rewrite func(*dapwire.Message)) {
	err := p.up.forward(m, rewrite)
	var long *LongRequestError
	if !errors.As(err, &long) {
		return
	}
	if answer, err := refusedAsLong(m, long); err == nil {
		if rewrite != nil {
			rewrite(answer)
		}
		p.client.send(answer)
	}
}

// onResume passes what lets the program run.
func (p *Proxy) onResume(_ context.Context, m *dapwire.Message) {
	p.mapThread(m)
	p.resume(m, nil)
}

// resume passes what lets the program run; rewrite, which may be nil, changes the
// answer.
func (p *Proxy) resume(m *dapwire.Message, rewrite func(*dapwire.Message)) {
	p.tellGuard()
	answered := p.state.resumes()
	p.pass(m, func(answer *dapwire.Message) {
		answered(answer.Success)
		if rewrite != nil {
			rewrite(answer)
		}
	})
}

// onWrite passes what changes the program's memory.
func (p *Proxy) onWrite(_ context.Context, m *dapwire.Message) {
	p.pass(m, func(*dapwire.Message) { p.wrote() })
}

// wrote is called when a request may have changed the program's memory.
func (p *Proxy) wrote() {
	p.state.writes()
	if s, ok := p.program.target().(Shared); ok {
		s.Wrote()
	}
}

// onEvent looks at an event of Delve's before the client sees it.
func (p *Proxy) onEvent(m *dapwire.Message) {
	switch m.Event {
	case "initialized":
		p.attach()
		p.guardTarget()
	case "stopped":
		p.endStep()
		p.state.stops()
		p.nameStoppedThread(m)
		p.lookAtStop(m)
	case "continued":
		p.state.runs()
		p.nameContinuedThread(m)
	case "terminated", "exited":
		p.endStep()
		p.state.runs()
	}
}

// lookAtStop begins with what the client will ask for.
func (p *Proxy) lookAtStop(m *dapwire.Message) {
	var body struct {
		ThreadID int64 `json:"threadId"`
	}
	if m.Decode("body", &body) == nil && body.ThreadID > 0 && p.program.target() != nil {
		go p.find(p.ctx, 0, page{ThreadID: body.ThreadID, Levels: 1})
	}
}
