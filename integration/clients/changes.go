package main

import (
	"errors"
	"time"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"
	"github.com/google/go-dap"
)

// writes changes a variable by each kind.
func (p *party) writes() error {
	if err := p.editorWrites(); err != nil {
		return err
	}
	p.settle()
	var out rpc2.SetOut
	err := p.terminals[0].call("Set", rpc2.SetIn{Scope: api.EvalScope{GoroutineID: -1}, Symbol: "main.total", Value: "7"}, &out)
	now := time.Now()
	if err != nil {
		return err
	}
	return p.seen("set a variable", terminals, p.editors, now, "invalidated")
}

// editorWrites sets a local variable.
func (p *party) editorWrites() error {
	if err := p.warmUp(); err != nil {
		return err
	}
	a := p.editors[0]
	var stack dap.StackTraceResponseBody
	var scopes dap.ScopesResponseBody
	if err := a.body("stackTrace", map[string]any{"threadId": a.threadID(), "levels": 1}, &stack); err != nil {
		return err
	}
	if len(stack.StackFrames) == 0 {
		return errors.New("setVariable: the stack is empty")
	}
	if err := a.body("scopes", map[string]any{"frameId": stack.StackFrames[0].Id}, &scopes); err != nil {
		return err
	}
	if len(scopes.Scopes) == 0 {
		return errors.New("setVariable: the frame has no scopes")
	}
	m, err := a.must("setVariable", map[string]any{"variablesReference": scopes.Scopes[0].VariablesReference, "name": "n", "value": "5"})
	if err != nil {
		return err
	}
	return p.seen("set a variable", editors, p.editors[1:], m.at, "invalidated")
}

// restarts starts the program again by each kind. The stop at its entry counts from the actor's answer.
func (p *party) restarts() error {
	p.settle()
	m, err := p.editors[0].must("restart", map[string]any{"arguments": map[string]any{"request": "launch", "rebuild": false}})
	if err != nil {
		return err
	}
	own, err := p.editors[0].event("initialized") // Delve has answered when it began
	if err != nil {
		return err
	}
	if err := p.seen("restart", editors, p.editors[1:], latest(m.at, own.at), "stopped"); err != nil {
		return err
	}
	if err := p.warmUp(); err != nil { // it stands until then: the editor has not sent configurationDone
		return err
	}
	if err := p.terminals[0].call("Restart", rpc2.RestartIn{}, new(rpc2.RestartOut)); err != nil {
		return err
	}
	if err := p.seen("restart", terminals, p.editors, time.Now(), "stopped"); err != nil {
		return err
	}
	return p.warmUp()
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
