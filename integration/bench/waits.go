package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// waits measures what a person waits for in an editor: a step, and the stack after it.
func waits(t *table, program string) error {
	t.title = "An editor's waits, beside `dlv dap`"
	t.notes = []string{"At the stops of one session. A stack is the two requests that\n" +
		"VS Code makes (levels 1, then 19), of 20 frames and those below them. `next` is asked for when the stack has been shown, or at once."}
	servers, err := t.servers(filepath.Dir(program))
	if err != nil {
		return err
	}
	t.header = slices.Concat([]string{"wait", "in"}, columns(servers, ""))
	for _, in := range []where{inGo, inC} {
		if err := stepWaits(t, program, in, servers); err != nil {
			return err
		}
	}
	return nil
}

// shallow is the depth of the recursion that is waited for.
const shallow = 20

// stepWaits measures a step, and the stack after it.
func stepWaits(t *table, program string, in where, servers []server) error {
	var all []contender
	stepped := func(e *editor) func() error {
		return func() error {
			if err := e.again(); err != nil {
				return err
			}
			return e.next()
		}
	}
	for _, what := range []string{"`next` at once", "`next`", "the stack after `next`", "the whole stack after `next`"} {
		for _, s := range servers {
			e, err := edit(s.exe, program, in, shallow)
			if err != nil {
				return err
			}
			defer e.close()
			c := contender{name: what, before: stepped(e), run: e.asVSCode}
			switch {
			case what == "`next` at once": // before the stack is asked for
				c.before, c.run = e.again, e.next
			case what == "`next`":
				c.before, c.run = func() error { return errors.Join(e.again(), e.asVSCode()) }, e.next
			case strings.Contains(what, "whole"):
				c.run = func() error { return e.stack(0, 2*shallow+100, 1) }
			}
			all = append(all, c)
		}
	}
	r, err := compare(t.rounds, all...)
	if err != nil {
		return fmt.Errorf("%s: %w", in.name, err)
	}
	for i := 0; i < len(r); i += len(servers) {
		t.row(slices.Concat([]string{all[i].name, in.name}, cells(r[i:i+len(servers)]))...)
	}
	return nil
}
