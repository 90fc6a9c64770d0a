package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"
)

// end is an action that ends a session, or one client's part in it.
type end struct {
	action, actor string
	by            func(p *party, s *server) error // returns when the actor has its answer
	goesOn        bool
	on            string // the kinds of server where it is one
}

// ends are these actions. Of each, the program stands, or another client has resumed it.
var ends = []end{
	{"disconnect", editors, func(p *party, _ *server) error { return p.disconnects(false) }, true, "headless proxy"},
	{"disconnect and terminate", editors, func(p *party, _ *server) error { return p.disconnects(true) }, false, "headless multi proxy"},
	{"detach and kill", terminals, func(p *party, _ *server) error {
		return p.terminals[0].call("Detach", rpc2.DetachIn{Kill: true}, new(rpc2.DetachOut))
	}, false, "headless multi proxy"},
	{"SIGTERM", "signal", func(_ *party, s *server) error { return s.cmd.Process.Signal(syscall.SIGTERM) }, false, "headless multi"},
}

// runners resume the program before an end; nil leaves it stopped.
var runners = []func(p *party) error{
	nil,
	func(p *party) error { // an editor, the other one where there is one
		last := len(p.editors) - 1
		_, err := p.editors[last].must("continue", map[string]any{"threadId": p.editors[last].threadID()})
		if err == nil && last > 0 {
			_, err = p.editors[0].event("continued")
		}
		return err
	},
	func(p *party) error { // the other dlv
		p.terminals[1].start(api.Continue)
		for _, e := range p.editors {
			if _, err := e.event("continued"); err != nil {
				return err
			}
		}
		return nil
	},
}

// endings ends as many sessions in each way, in turn of what the program does.
func (k *kind) endings(w *work, runs int, r *results) error {
	for _, e := range ends {
		if !slices.Contains(strings.Fields(e.on), k.name) {
			continue
		}
		for n := range runs {
			if err := k.ending(w, &e, runners[n%len(runners)], r); err != nil {
				return fmt.Errorf("%s, run %d: %w", e.action, n+1, err)
			}
		}
	}
	return nil
}

func (k *kind) ending(w *work, e *end, resume func(*party) error, r *results) error {
	return k.with(w, r, func(p *party, s *server) error {
		if resume != nil {
			if err := resume(p); err != nil {
				return err
			}
		}
		if err := e.by(p, s); err != nil {
			return err
		}
		now := time.Now()
		if e.goesOn {
			return p.goesOn(e, resume != nil, now)
		}
		return p.isOver(e, now)
	})
}

func (p *party) disconnects(terminate bool) error {
	_, err := p.editors[0].must("disconnect", map[string]any{"terminateDebuggee": terminate})
	return err
}

// goesOn sees that the others are served, and are told nothing.
func (p *party) goesOn(e *end, running bool, since time.Time) error {
	now, err := p.terminals[0].running()
	if err != nil {
		return err
	}
	if now != running {
		return fmt.Errorf("the program runs: %v, and before: %v", now, running)
	}
	p.results.add(pair{e.action, e.actor, terminals, "the state as it was"}, time.Since(since))
	for len(p.editors[1].events) > 0 {
		if m := <-p.editors[1].events; m.at.After(since) {
			return fmt.Errorf("another editor is told: %s", m.Bytes())
		}
	}
	_, err = p.terminals[0].command(api.Halt)
	return err
}

// isOver waits until the others know that the session has ended.
func (p *party) isOver(e *end, since time.Time) error {
	others := p.editors
	if e.actor == editors {
		others = others[1:]
	}
	if err := p.seen(e.action, e.actor, others, since, "terminated"); err != nil {
		return err
	}
	deadline := time.After(patience)
	for {
		select {
		case _, open := <-p.terminals[1].events:
			if !open {
				p.results.add(pair{e.action, e.actor, terminals, "the end of the connection"}, max(p.terminals[1].ended.Sub(since), 0))
				return nil
			}
		case <-deadline:
			return errors.New("the connection of dlv does not end")
		}
	}
}
