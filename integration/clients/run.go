package main

import (
	"fmt"
	"time"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"
)

// party are the clients of one session: two of each kind, so that each kind has another of its
// own beside it. An editor's own session has that editor alone.
type party struct {
	work      *work
	editors   []*editor
	terminals [2]*terminal
	results   *results
	path      string
	at, other int  // lines
	proxied   bool // clients are connected to clew proxy
}

const (
	editors   = "editor"
	terminals = "dlv"
)

// join connects all clients to a server that has the program.
func (w *work) join(addr string, r *results) (*party, error) {
	return w.joinBy(addr, r, 2, (*editor).attach)
}

// joinThrough connects all clients to a proxy.
func (w *work) joinThrough(addr string, r *results) (*party, error) {
	p, err := w.join(addr, r)
	if err == nil {
		p.proxied = true
	}
	return p, err
}

// beside has an editor start the program, and clients of JSON-RPC join it.
func (w *work) beside(addr string, r *results) (*party, error) {
	return w.joinBy(addr, r, 1, func(e *editor) error { return e.launch(w.program) })
}

func (w *work) joinBy(addr string, r *results, editors int, begin func(*editor) error) (*party, error) {
	p := &party{work: w, results: r}
	p.path, p.at = w.line("// breakpoint")
	_, p.other = w.line("// other")
	for i := range editors {
		e, err := newEditor(fmt.Sprintf("editor %d", i+1), addr)
		if err != nil {
			return nil, err
		}
		if err := begin(e); err != nil {
			return nil, err
		}
		p.editors = append(p.editors, e)
	}
	if err := p.joinTerminals(addr); err != nil {
		return nil, err
	}
	return p, p.warmUp()
}

// warmUp runs the program to where steps can begin.
func (p *party) warmUp() error { return p.runTo(p.editors...) }

// runTo runs the program to its breakpoint, of which those editors learn.
func (p *party) runTo(editors ...*editor) error {
	var made rpc2.CreateBreakpointOut
	if err := p.terminals[0].call("CreateBreakpoint", rpc2.CreateBreakpointIn{Breakpoint: api.Breakpoint{File: p.path, Line: p.at}}, &made); err != nil {
		return err
	}
	if _, err := p.terminals[0].command(api.Continue); err != nil {
		return err
	}
	for _, e := range editors {
		if _, err := e.event("stopped"); err != nil {
			return err
		}
	}
	if err := p.terminals[0].call("ClearBreakpoint", rpc2.ClearBreakpointIn{Id: made.Breakpoint.ID}, new(rpc2.ClearBreakpointOut)); err != nil {
		return err
	}
	for _, e := range editors {
		if _, err := e.event("breakpoint"); err != nil {
			return err
		}
	}
	p.settle()
	return nil
}

func (p *party) joinTerminals(addr string) (err error) {
	for i := range p.terminals {
		if p.terminals[i], err = newTerminal(fmt.Sprintf("dlv %d", i+1), addr); err != nil {
			return err
		}
		if _, err := p.terminals[i].running(); err != nil { // it has joined when it is answered
			return err
		}
	}
	go p.terminals[1].listen()
	return nil
}

func (p *party) leave() {
	for _, e := range p.editors {
		_ = e.client.Close()
		p.results.wrong = append(p.results.wrong, e.wrong...)
	}
	for _, t := range p.terminals {
		_ = t.client.Close()
	}
}

// settle forgets what came before.
func (p *party) settle() {
	for _, e := range p.editors {
		e.drain()
	}
	p.terminals[1].drain()
}

// kindOf maps an editor's events to those of the terminal's interface.
var kindOf = map[string]api.EventKind{"continued": api.EventResumed, "stopped": api.EventStopped}

// seen waits until every observer has seen an event, and counts from a time.
func (p *party) seen(action, actor string, observers []*editor, since time.Time, event string) error {
	for _, e := range observers {
		m, err := e.event(event)
		if err != nil {
			return fmt.Errorf("%s by %s: %w", action, actor, err)
		}
		p.results.add(pair{action, actor, editors, event}, max(m.at.Sub(since), 0))
	}
	kind, ok := kindOf[event]
	if !ok {
		return nil
	}
	deadline := time.After(patience)
	for {
		select {
		case e, open := <-p.terminals[1].events:
			if !open {
				return fmt.Errorf("%s by %s: the connection of dlv ends", action, actor)
			}
			if e.kind == kind {
				p.results.add(pair{action, actor, terminals, event}, max(e.at.Sub(since), 0))
				return nil
			}
		case <-deadline:
			return fmt.Errorf("%s by %s: dlv is not told: %s", action, actor, event)
		}
	}
}

// round does every action once by each kind of client.
func (p *party) round() error {
	for _, step := range []func() error{
		p.editorBreakpoints, p.editorSteps, p.editorRuns, p.terminalBreakpoints, p.terminalSteps, p.terminalRuns, p.writes,
	} {
		p.settle()
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (p *party) editorBreakpoints() error {
	a, b := p.editors[0], p.editors[1:]
	for i, lines := range [][]int{{p.at}, {}} {
		m, err := a.must("setBreakpoints", breakpoints(p.path, lines...))
		if err != nil {
			return err
		}
		if verified(m) != len(lines) {
			return fmt.Errorf("%s", m.Bytes())
		}
		if err := p.seen([]string{"set a breakpoint", "remove it"}[i], editors, b, m.at, "breakpoint"); err != nil {
			return err
		}
	}
	return nil
}

func (p *party) editorSteps() error {
	if err := p.warmUp(); err != nil {
		return err
	}
	a, b := p.editors[0], p.editors[1:]
	for _, command := range []string{"next", "stepIn"} {
		m, err := a.must(command, map[string]any{"threadId": a.threadID()})
		if err != nil {
			return err
		}
		if err := p.seen(command, editors, b, m.at, "continued"); err != nil {
			return err
		}
		own, err := a.event("stopped")
		if err != nil {
			return err
		}
		if err := p.seen(command, editors, b, own.at, "stopped"); err != nil {
			return err
		}
	}
	return nil
}

// editorRuns resumes by an editor, and halts by each other kind.
func (p *party) editorRuns() error {
	a, b := p.editors[0], p.editors[1:]
	for _, by := range []string{"pause", "halt"} {
		if by == "pause" && len(b) == 0 {
			continue
		}
		p.settle()
		m, err := a.must("continue", map[string]any{"threadId": a.threadID()})
		if err != nil {
			return err
		}
		if err := p.seen("continue", editors, b, m.at, "continued"); err != nil {
			return err
		}
		if by == "pause" {
			err = p.editorPauses(b[0], p.editors[:1])
		} else {
			err = p.terminalHalts()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// editorPauses has an editor halt what another client runs.
func (p *party) editorPauses(e *editor, others []*editor) error {
	m, err := e.must("pause", map[string]any{"threadId": 1})
	if err != nil {
		return err
	}
	if _, err := e.event("stopped"); err != nil {
		return err
	}
	return p.seen("pause", editors, others, m.at, "stopped")
}

func (p *party) terminalHalts() error {
	state, err := p.terminals[0].command(api.Halt)
	now := time.Now()
	if err != nil {
		return err
	}
	if state.Running {
		return fmt.Errorf("after a halt the program runs")
	}
	return p.seen("halt", terminals, p.editors, now, "stopped")
}

func (p *party) terminalBreakpoints() error {
	var made rpc2.CreateBreakpointOut
	err := p.terminals[0].call("CreateBreakpoint", rpc2.CreateBreakpointIn{Breakpoint: api.Breakpoint{File: p.path, Line: p.other, Cond: "n < 0"}}, &made)
	now := time.Now()
	if err != nil {
		return err
	}
	if err := p.seen("set a breakpoint", terminals, p.editors, now, "breakpoint"); err != nil {
		return err
	}
	var out rpc2.ClearBreakpointOut
	err = p.terminals[0].call("ClearBreakpoint", rpc2.ClearBreakpointIn{Id: made.Breakpoint.ID}, &out)
	now = time.Now()
	if err != nil {
		return err
	}
	return p.seen("remove it", terminals, p.editors, now, "breakpoint")
}

func (p *party) terminalSteps() error {
	if err := p.warmUp(); err != nil {
		return err
	}
	for _, command := range []string{api.Next, api.Step} {
		sent := time.Now()
		if _, err := p.terminals[0].command(command); err != nil {
			return err
		}
		now := time.Now()
		if err := p.seen(command, terminals, p.editors, sent, "continued"); err != nil {
			return err
		}
		if err := p.seen(command, terminals, p.editors, now, "stopped"); err != nil {
			return err
		}
	}
	return nil
}

// terminalRuns resumes by a terminal, tries to resume once more, and halts by an editor and by another terminal.
func (p *party) terminalRuns() error {
	for _, by := range []string{"pause", "halt"} {
		p.settle()
		sent := time.Now()
		running := p.terminals[0].start(api.Continue)
		if err := p.seen("continue", terminals, p.editors, sent, "continued"); err != nil {
			return err
		}
		if err := p.refused(); err != nil {
			return err
		}
		var err error
		if by == "pause" {
			err = p.editorPauses(p.editors[0], p.editors[1:])
		} else {
			_, err = p.terminals[1].command(api.Halt)
			if err == nil {
				err = p.seen("halt", terminals, p.editors, time.Now(), "stopped")
			}
		}
		if err != nil {
			return err
		}
		select {
		case <-running.Done:
		case <-time.After(patience):
			return fmt.Errorf("the continue of dlv 1 does not return after a %s", by)
		}
	}
	return nil
}

// refused checks what cannot be while another client runs the program: it is refused at once.
func (p *party) refused() error {
	for _, command := range []string{"continue", "stackTrace"} {
		sent := time.Now()
		m, err := p.editors[0].ask(command, map[string]any{"threadId": 1})
		if err != nil {
			return err
		}
		if m.Success {
			return fmt.Errorf("%s is not refused while the program runs", command)
		}
		p.results.add(pair{command + " meanwhile", editors, "itself", "refusal"}, m.at.Sub(sent))
	}
	sent := time.Now()
	if _, err := p.terminals[1].command(api.Continue); err == nil {
		return fmt.Errorf("a second continue is not refused")
	}
	p.results.add(pair{"continue meanwhile", terminals, "itself", "refusal"}, time.Since(sent))
	sent = time.Now()
	if running, err := p.terminals[1].running(); err != nil || !running {
		return fmt.Errorf("the state says running %v: %w", running, err)
	}
	p.results.add(pair{"state meanwhile", terminals, "itself", "running"}, time.Since(sent))
	sent = time.Now()
	m, err := p.editors[len(p.editors)-1].ask("setBreakpoints", breakpoints(p.path))
	if err != nil {
		return err
	}
	if m.Success == p.proxied {
		return fmt.Errorf("set breakpoints meanwhile: %s", m.Bytes())
	}
	answer := map[bool]string{true: "answer", false: "refusal"}[m.Success]
	p.results.add(pair{"set breakpoints meanwhile", editors, "itself", answer}, m.at.Sub(sent))
	return nil
}
