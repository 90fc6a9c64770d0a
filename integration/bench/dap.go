package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/server/dapwire/dapwiretest"
)

// server is a program that serves editors.
type server struct{ name, exe string }

// servers are those that are compared: Delve's, clew's, and another build of clew's where
// one is named.
func (t *table) servers(folder string) ([]server, error) {
	if t.built == nil {
		dlv, clew, err := buildServers(folder)
		if err != nil {
			return nil, err
		}
		t.built = []server{{"dlv dap", dlv}, {"clew dap", clew}}
		if t.beside != "" {
			t.built = append(t.built, server{"beside", t.beside})
		}
	}
	return t.built, nil
}

// columns are a header's for figures of each server, against the first one's.
func columns(of []server, what string) (header []string) {
	for i, s := range of {
		header = append(header, s.name+what)
		if i > 0 {
			header = append(header, "against dlv")
		}
	}
	return header
}

// cells are a row's figures for [columns].
func cells(results []result) (row []string) {
	for i, r := range results {
		row = append(row, r.total())
		if i > 0 {
			row = append(row, r.to(results[0]))
		}
	}
	return row
}

// stackRequests measures an editor's wait at a stop: stackTrace by `clew
// dap` beside `dlv dap`, both real servers over TCP.
func stackRequests(t *table, program string) error {
	t.title = "DAP stackTrace, beside `dlv dap`"
	t.notes = []string{"The time of one stackTrace request for the whole stack, each at another stop of the same program than the\n" +
		"first; and of the two requests that VS Code makes (levels 1, then 19)."}
	servers, err := t.servers(filepath.Dir(program))
	if err != nil {
		return err
	}
	t.header = slices.Concat([]string{"frames", "in"}, columns(servers, ""), columns(servers, ", 1 + 19"))
	for _, in := range []where{inGo, inC} {
		for _, n := range []int{20, 50, 1_000, 10_000} {
			if err := stackRequest(t, program, in, n, servers); err != nil {
				return err
			}
		}
	}
	return nil
}

// buildServers builds both servers in a folder.
func buildServers(folder string) (dlv, clew string, err error) {
	dlv, clew = filepath.Join(folder, "dlv"), filepath.Join(folder, "clew")
	return dlv, clew, errors.Join(testkit.BuildDlvAlone(dlv), testkit.Go("build", "-o", clew, "github.com/clewdbg/clew/cmd/clew"))
}

func stackRequest(t *table, program string, in where, n int, servers []server) error {
	var whole, asVSCode []contender
	for i, s := range servers {
		e, err := edit(s.exe, program, in, n)
		if err != nil {
			return err
		}
		defer e.close()
		least := n
		if in == inC && i == 0 {
			least = 1 // Delve may lose the stack
		}
		whole = append(whole, contender{name: s.name, before: e.again, run: func() error { return e.stack(0, 2*n+100, least) }})
		asVSCode = append(asVSCode, contender{name: s.name + ", as VS Code", before: e.again, run: e.asVSCode})
	}
	r, err := compare(t.rounds, slices.Concat(whole, asVSCode)...)
	if err != nil {
		return err
	}
	t.row(slices.Concat([]string{fmt.Sprint(n), in.name}, cells(r[:len(servers)]), cells(r[len(servers):]))...)
	return nil
}

// editor is a client of a server that stands at a stop of a program.
type editor struct {
	*dapwiretest.Client
	server *testkit.Server
	thread int
}

// edit starts a server and goes to the program's first stop.
func edit(exe, program string, in where, n int) (*editor, error) {
	e, err := connect(exe)
	if err != nil {
		return nil, err
	}
	if err := e.launch(exe, program, in, n); err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

// connect starts a server and initializes a session.
func connect(exe string) (*editor, error) { return connectIn(nil, exe) }

// connectIn is connect with another environment than this process's.
func connectIn(env []string, exe string) (*editor, error) {
	cmd := exec.Command(exe, "dap", "--listen=127.0.0.1:0")
	cmd.Env, cmd.Stderr = env, os.Stderr
	client, server, err := dapwiretest.Start(cmd)
	if err != nil {
		return nil, err
	}
	e := &editor{client, server, 0}
	if err := e.request("initialize", map[string]any{"adapterID": "go", "linesStartAt1": true}, nil); err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

// launch goes to the program's first stop.
func (e *editor) launch(exe, program string, in where, n int) error {
	pulse := filepath.Join(filepath.Dir(program), filepath.Base(exe)+".pulse")
	err := errors.Join(
		e.request("launch", map[string]any{"mode": "exec", "program": program, "args": []string{in.scenario, fmt.Sprint(n), pulse}, "stackTraceDepth": 1 << 20}, nil),
		e.request("setFunctionBreakpoints", map[string]any{"breakpoints": []any{map[string]any{"name": in.location}}}, nil),
		e.request("configurationDone", nil, nil))
	if err == nil {
		err = e.stopped()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(exe), err)
	}
	return nil
}

func (e *editor) close() {
	_ = e.request("disconnect", map[string]any{"terminateDebuggee": true}, nil)
	_ = e.Close()
	e.server.Kill()
}

// request makes a request and decodes its response's body.
func (e *editor) request(command string, arguments, body any) error {
	return e.Ask(command, arguments, body)
}

func (e *editor) stopped() (err error) {
	thread, reason, err := e.Stopped()
	if e.thread = thread; err == nil && reason == "terminated" {
		err = errors.New("the program has ended")
	}
	return err
}

// again lets the program run to its next stop.
func (e *editor) again() error {
	if err := e.request("continue", map[string]any{"threadId": e.thread}, nil); err != nil {
		return err
	}
	return e.stopped()
}

// asVSCode asks for a stack as VS Code does: for the innermost frame, then for the rest of a page.
func (e *editor) asVSCode() error { return errors.Join(e.stack(0, 1, 1), e.stack(1, 19, 1)) }

// next makes a step, to the stop that ends it.
func (e *editor) next() error {
	if err := e.request("next", map[string]any{"threadId": e.thread}, nil); err != nil {
		return err
	}
	return e.stopped()
}

func (e *editor) stack(start, levels, least int) error {
	var body struct{ StackFrames []json.RawMessage }
	err := e.request("stackTrace", map[string]any{"threadId": e.thread, "startFrame": start, "levels": levels}, &body)
	if err == nil && len(body.StackFrames) < least {
		err = fmt.Errorf("%d frames of %d", len(body.StackFrames), least)
	}
	return err
}
