package delve_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-delve/delve/service/api"
	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/delvetest"
	"github.com/clewdbg/clew/server/delve/internals"
)

// editor is a client of Delve's own DAP session.
type editor struct {
	t    *testing.T
	d    *delve.DAP
	in   chan []byte // is always read into: Delve writes without being asked
	seq  int
	seen []string // events
}

func newEditor(t *testing.T, cfg delve.DAPConfig) *editor {
	t.Helper()
	cfg.Backend = "default"
	d, err := delve.StartDAP(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	e := &editor{t: t, d: d, in: make(chan []byte, 1000)}
	go func() {
		defer close(e.in)
		for r := bufio.NewReader(d.Conn()); ; {
			content, err := dap.ReadBaseMessage(r)
			if err != nil {
				return
			}
			e.in <- content
		}
	}()
	return e
}

// ask sends a request and returns its answer as it came.
func (e *editor) ask(command string, arguments any) (answer []byte) {
	e.t.Helper()
	e.send(command, arguments)
	for {
		content := e.read()
		var head struct {
			RequestSeq int `json:"request_seq"`
		}
		if json.Unmarshal(content, &head) == nil && head.RequestSeq == e.seq {
			return content
		}
	}
}

func (e *editor) send(command string, arguments any) {
	e.t.Helper()
	e.seq++
	content, err := json.Marshal(map[string]any{"seq": e.seq, "type": "request", "command": command, "arguments": arguments})
	if err != nil {
		e.t.Fatal(err)
	}
	if err := dap.WriteBaseMessage(e.d.Conn(), content); err != nil {
		e.t.Fatal(err)
	}
}

func (e *editor) read() []byte {
	e.t.Helper()
	var content []byte
	var ok bool
	select {
	case content, ok = <-e.in:
	case <-time.After(30 * time.Second):
	}
	if !ok {
		e.t.Fatalf("Delve says no more than %q", e.seen)
	}
	var event struct{ Event string }
	if json.Unmarshal(content, &event) == nil && event.Event != "" {
		e.seen = append(e.seen, event.Event)
	}
	return content
}

// until reads to an event.
func (e *editor) until(event string) {
	e.t.Helper()
	for len(e.seen) == 0 || e.seen[len(e.seen)-1] != event {
		e.read()
	}
}

func (e *editor) launch(t *testing.T, args ...string) {
	path := delvetest.Program(t)
	e.ask("initialize", map[string]any{"adapterID": "go"})
	if answer := e.ask("launch", map[string]any{"mode": "exec", "program": path, "args": args}); !bytes.Contains(answer, []byte(`"success":true`)) {
		t.Fatalf("%s", answer)
	}
}

// toPoint starts testdata/stops, has it run to main.point, and returns the innermost frame.
func (e *editor) toPoint() dap.StackFrame {
	e.t.Helper()
	e.launch(e.t)
	e.ask("setFunctionBreakpoints", map[string]any{"breakpoints": []any{map[string]any{"name": "main.point"}}})
	for _, command := range []string{"configurationDone", "continue"} {
		e.seen = nil
		e.send(command, map[string]any{"threadId": 1})
		e.until("stopped")
	}
	return e.innermost()
}

func (e *editor) innermost() dap.StackFrame {
	e.t.Helper()
	var stack dap.StackTraceResponseBody
	if e.body(e.ask("stackTrace", map[string]any{"threadId": 1, "levels": 1}), &stack); len(stack.StackFrames) == 0 {
		e.t.Fatal("no frames")
	}
	return stack.StackFrames[0]
}

// body decodes the body of an answer.
func (e *editor) body(answer []byte, out any) {
	e.t.Helper()
	if err := json.Unmarshal(answer, &struct{ Body any }{out}); err != nil {
		e.t.Fatalf("%s: %v", answer, err)
	}
}

// TestDummyThread: before Go's runtime has started, Delve names one thread that stands
// for none.
func TestDummyThread(t *testing.T) {
	e := newEditor(t, delve.DAPConfig{})
	e.launch(t)
	answer := e.ask("threads", nil)
	var threads struct{ Body dap.ThreadsResponseBody }
	want := dap.Thread{Id: internals.DummyThreadID, Name: internals.DummyThread}
	if err := json.Unmarshal(answer, &threads); err != nil || len(threads.Body.Threads) != 1 || threads.Body.Threads[0] != want {
		t.Error(internals.Changed(internals.EntryDAPDummy, "%s, %v", answer, err))
	}
}

// TestSourceBreakpoint: a DAP session names a breakpoint by its file and line, or its function, and takes one
// that has the name for its own: it clears it when it is not wanted any more.
func TestSourceBreakpoint(t *testing.T) {
	e := newEditor(t, delve.DAPConfig{})
	e.launch(t)
	s, err := delve.ProgramOf(e.d)
	if err != nil {
		t.Fatal(err)
	}
	at, err := s.Locate("main.main")
	if err != nil {
		t.Fatal(err)
	}
	const file, line, function = "/not/known.go", 7, "not.known"
	source := map[string]any{"path": file}
	for _, c := range []struct {
		name, command   string
		arguments       map[string]any
		wanted, another map[string]any
	}{
		{internals.SourceBreakpoint(file, line, 0), "setBreakpoints", map[string]any{"source": source}, map[string]any{"line": line}, map[string]any{"line": line + 1}},
		{internals.FunctionBreakpoint(function), "setFunctionBreakpoints", map[string]any{}, map[string]any{"name": function}, map[string]any{"name": "another"}},
	} {
		if _, err := delve.DoorOf(s).CreateBreakpoint(&api.Breakpoint{Name: c.name, Addrs: at, AddrPid: slices.Repeat([]int{s.Pid()}, len(at))}); err != nil {
			t.Fatal(err)
		}
		set := func(b map[string]any) []dap.Breakpoint {
			c.arguments["breakpoints"] = []map[string]any{b}
			var answer dap.SetBreakpointsResponse
			if err := json.Unmarshal(e.ask(c.command, c.arguments), &answer); err != nil {
				t.Fatal(err)
			}
			return answer.Body.Breakpoints
		}
		if got := set(c.wanted); len(got) != 1 || !got[0].Verified {
			t.Error(internals.Changed(internals.EntryDAPLine, "%+v", got))
		}
		if bp := e.d.Debugger().FindBreakpointByName(c.name); bp == nil {
			t.Errorf("there is no breakpoint %q", c.name)
		}
		set(c.another)
		if bp := e.d.Debugger().FindBreakpointByName(c.name); bp != nil {
			t.Errorf("it is still there: %+v", bp)
		}
	}
}

// TestAnnounced: a program is announced before it is started, and where it was not,
// the session is refused.
func TestAnnounced(t *testing.T) {
	var told []string
	e := newEditor(t, delve.DAPConfig{OnLaunch: func(path string) { told = append(told, path) }})
	e.launch(t)
	s, err := delve.ProgramOf(e.d)
	if err != nil || s == nil {
		t.Fatalf("%v, %v", s, err)
	}
	if path, _ := filepath.Abs(delvetest.Program(t)); len(told) != 1 || told[0] != path {
		t.Error(internals.Changed(internals.EntryLaunchLog, "%q", told))
	}
	delve.Unannounce(e.d)
	if _, err := delve.ProgramOf(e.d); err == nil || !strings.Contains(err.Error(), internals.EntryLaunchLog) {
		t.Errorf("without: %v", err)
	}
}

// TestDelveWritesFrames: frames stand in Delve's answer as clew looks for them.
func TestDelveWritesFrames(t *testing.T) {
	e := newEditor(t, delve.DAPConfig{})
	e.launch(t)
	e.send("configurationDone", nil)
	e.until("stopped")
	answer := e.ask("stackTrace", map[string]any{"threadId": 1, "levels": 50})
	var whole dap.StackTraceResponse
	if err := json.Unmarshal(answer, &whole); err != nil || len(whole.Body.StackFrames) < 3 {
		t.Fatalf("%s, %v", answer, err)
	}
	for _, field := range []string{internals.FrameStart, internals.FramePC} {
		if n := bytes.Count(answer, []byte(field)); n != len(whole.Body.StackFrames) {
			t.Error(internals.Changed(internals.EntryDAPFrames, "%q is %d times in %s", field, n, answer))
		}
	}
	if !bytes.Contains(answer, []byte("]"+internals.TotalFrames)) {
		t.Error(internals.Changed(internals.EntryDAPFrames, "no %q in %s", internals.TotalFrames, answer))
	}
}

// TestRunningText: while the program runs, Delve refuses requests in the words that
// clew knows.
func TestRunningText(t *testing.T) {
	e := newEditor(t, delve.DAPConfig{})
	e.launch(t, "wait")
	e.send("configurationDone", nil)
	e.until("stopped")
	e.ask("continue", map[string]any{"threadId": 1})
	answer := e.ask("scopes", map[string]any{"frameId": 1000})
	if !bytes.Contains(answer, []byte(internals.RunningText)) {
		t.Error(internals.Changed(internals.EntryDAPRunning, "%s", answer))
	}
	e.ask("pause", map[string]any{"threadId": 1})
}

// TestValueText: a pointer's text begins, and a variable's data ID ends, as clew reads them.
func TestValueText(t *testing.T) {
	e := newEditor(t, delve.DAPConfig{})
	frame := e.toPoint()
	var scopes dap.ScopesResponseBody
	e.body(e.ask("scopes", map[string]any{"frameId": frame.Id}), &scopes)
	scope := scopes.Scopes[0].VariablesReference
	var variables dap.VariablesResponseBody
	e.body(e.ask("variables", map[string]any{"variablesReference": scope}), &variables)
	if len(variables.Variables) == 0 || !internals.Pointer.MatchString(variables.Variables[0].Value) {
		t.Error(internals.Changed(internals.EntryValueText, "%+v", variables.Variables))
	}
	answer := e.ask("dataBreakpointInfo", map[string]any{"variablesReference": scope, "name": "p"})
	var info struct{ DataID string }
	e.body(answer, &info)
	if !internals.DataAddress.MatchString(info.DataID) {
		t.Error(internals.Changed(internals.EntryValueText, "%s", answer))
	}
}

// TestConsole: Delve carries out what clew takes for a command of Delve's console, and for a
// call. Each command has the effect that clew has learned of it.
func TestConsole(t *testing.T) {
	e := newEditor(t, delve.DAPConfig{})
	frame := e.toPoint()
	folder := filepath.Dir(frame.Source.Path)
	evaluate := func(expression string, forms ...*regexp.Regexp) (result string) {
		t.Helper()
		for _, form := range forms {
			if !form.MatchString(expression) {
				t.Errorf("%s does not match %q", form, expression)
			}
		}
		answer := e.ask("evaluate", map[string]any{"expression": expression, "context": "repl", "frameId": frame.Id})
		var body dap.EvaluateResponseBody
		if e.body(answer, &body); body.Result == "" && len(forms) == 0 || !bytes.Contains(answer, []byte(`"success":true`)) {
			t.Error(internals.Changed(internals.EntryConsole, "%s: %s", expression, answer))
		}
		return body.Result
	}
	evaluate("dlv config stackTraceDepth 7", internals.ConsoleCommand, internals.SetDepth)
	if depth := evaluate("dlv config -list stackTraceDepth"); !strings.Contains(depth, "7") {
		t.Error(internals.Changed(internals.EntryConsole, "the depth is %q", depth))
	}
	evaluate("dlv config substitutePath /client "+folder, internals.ConsoleCommand, internals.SetPaths)
	if path := e.innermost().Source.Path; path != "/client/"+filepath.Base(frame.Source.Path) {
		t.Error(internals.Changed(internals.EntryConsole, "the source is %s", path))
	}
	evaluate("call *p = 5", internals.Call)
	if value := evaluate("*p"); value != "5" {
		t.Error(internals.Changed(internals.EntryConsole, "after a call, *p is %q", value))
	}
}
