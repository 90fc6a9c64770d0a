package dap

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/clewdbg/clew/server/dapwire"
)

// play plays a session against both servers and compares.
func play(t *testing.T, script func(*client)) {
	t.Helper()
	playOn(t, func(exe string) *server { return start(t, exe) }, script)
}

// playOn is play, for servers that are started in another way.
func playOn(t *testing.T, start func(exe string) *server, script func(*client)) {
	t.Helper()
	dlv, clew := peers(t)
	a := record(t, start(dlv), script)
	b := record(t, start(clew), script)
	if !t.Failed() {
		transcribe(t, a, dlvs).compare(t, transcribe(t, b, intended))
	}
}

// record plays a session and waits for the server's end.
func record(t *testing.T, s *server, script func(*client)) *client {
	t.Helper()
	c := s.dial()
	script(c)
	c.end()
	if err := s.wait(); err != nil {
		t.Errorf("%s ends with %v; stderr: %s", filepath.Base(s.cmd.Path), err, s.stderr)
	}
	return c
}

// line finds the line of main.go that has a text.
func line(t testing.TB, source, text string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(source, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := bytes.Cut(data, []byte(text))
	if !found {
		t.Fatalf("no line has %q", text)
	}
	return bytes.Count(before, []byte("\n")) + 1
}

const breakpointText = "// a breakpoint goes here"

func breakpoints(source string, lines ...int) object {
	list := []object{}
	for _, n := range lines {
		list = append(list, object{"line": n})
	}
	return object{"source": object{"path": filepath.Join(source, "main.go")}, "breakpoints": list}
}

// inspectStop asks for everything that an editor shows at a stop.
func (c *client) inspectStop(thread int64) {
	c.t.Helper()
	c.ok("threads", nil)
	first := c.stack(thread, 0, 1)
	c.stack(thread, 1, 19)
	c.stack(thread, 0, 0)
	c.stack(thread, 100, 5)
	frames := append(first.StackFrames, c.stack(thread, 1, 1).StackFrames...)
	for _, f := range frames {
		for _, s := range c.scopes(f.ID) {
			if s.VariablesReference < firstClewID {
				c.ok("variables", object{"variablesReference": s.VariablesReference})
			}
		}
		for _, expression := range []string{"p", "p.X", "total", "list[1]", "nothing", "1+"} {
			c.request("evaluate", object{"expression": expression, "frameId": f.ID, "context": "watch"})
		}
	}
	c.request("scopes", object{"frameId": 999999})
	c.request("variables", object{"variablesReference": 999999})
}

// TestExec steps through a program, from a breakpoint to its end.
func TestExec(t *testing.T) {
	exe, source := plain(t)
	at := line(t, source, breakpointText)
	play(t, func(c *client) {
		c.initialize()
		c.ok("launch", object{"mode": "exec", "program": exe, "showGlobalVariables": true, "showRegisters": false})
		c.event("initialized")
		c.ok("setBreakpoints", breakpoints(source, at))
		c.ok("setFunctionBreakpoints", object{"breakpoints": []object{}})
		c.ok("setExceptionBreakpoints", object{"filters": []string{"unrecovered-panic", "runtime-fatal-throw"}})
		c.ok("configurationDone", nil)
		thread := threadOf(t, c.event("stopped"))
		c.inspectStop(thread)
		frame := c.stack(thread, 0, 1).StackFrames[0].ID
		locals := int64(0)
		for _, s := range c.scopes(frame) {
			if s.Name == "Locals" {
				locals = s.VariablesReference
			}
		}
		c.ok("setVariable", object{"variablesReference": locals, "name": "total", "value": "100"})
		c.ok("evaluate", object{"expression": "total", "frameId": frame, "context": "hover"})
		c.ok("evaluate", object{"expression": "call inlined(1, 2)", "frameId": frame, "context": "repl"})
		c.ok("evaluate", object{"expression": "dlv help", "context": "repl"})
		c.ok("evaluate", object{"expression": "dlv config stackTraceDepth 3", "context": "repl"})
		c.stack(thread, 0, 0)
		for _, step := range []string{"next", "next", "stepIn", "stepIn", "stepOut", "stepOut"} {
			c.ok(step, object{"threadId": thread})
			thread = threadOf(t, c.event("stopped"))
			c.stack(thread, 0, 20)
		}
		c.ok("next", object{"threadId": thread, "granularity": "instruction"})
		c.event("stopped")
		c.request("next", object{"threadId": 424242})
		c.event("stopped")
		c.ok("setBreakpoints", breakpoints(source))
		c.ok("continue", object{"threadId": thread})
		c.event("terminated")
		c.request("stackTrace", object{"threadId": thread})
		c.request("threads", nil)
		c.ok("disconnect", object{})
	})
}

// TestDebug builds a program, stops at its entry, and looks at its code.
func TestDebug(t *testing.T) {
	_, source := plain(t)
	at := line(t, source, breakpointText)
	play(t, func(c *client) {
		c.initialize()
		c.ok("launch", object{"mode": "debug", "program": source, "dlvCwd": source, "stopOnEntry": true, "args": []string{"work"},
			"substitutePath": []object{{"from": "/elsewhere", "to": source}}})
		c.event("initialized")
		c.ok("setFunctionBreakpoints", object{"breakpoints": []object{{"name": "main.sum"}, {"name": "main.nothing"}}})
		c.ok("setBreakpoints", breakpoints("/elsewhere", at))
		c.ok("configurationDone", nil)
		c.event("stopped")
		c.ok("threads", nil)
		c.request("stackTrace", object{"threadId": 1})
		c.ok("continue", object{"threadId": 1})
		thread := threadOf(t, c.event("stopped"))
		c.inspectStop(thread)
		f := c.stack(thread, 0, 1).StackFrames[0]
		c.ok("disassemble", object{"memoryReference": f.PC, "instructionOffset": -3, "instructionCount": 10})
		c.ok("dataBreakpointInfo", object{"name": "a", "frameId": f.ID})
		c.request("setInstructionBreakpoints", object{"breakpoints": []object{{"instructionReference": f.PC}}})
		c.ok("continue", object{"threadId": thread})
		c.inspectStop(threadOf(t, c.event("stopped")))
		c.ok("disconnect", object{"terminateDebuggee": true})
	})
}

// TestTest debugs a test.
func TestTest(t *testing.T) {
	_, source := plain(t)
	play(t, func(c *client) {
		c.initialize()
		c.ok("launch", object{"mode": "test", "program": source, "dlvCwd": source, "args": []string{"-test.run=TestSum"}})
		c.event("initialized")
		c.ok("setFunctionBreakpoints", object{"breakpoints": []object{{"name": "main.step"}}})
		c.ok("configurationDone", nil)
		thread := threadOf(t, c.event("stopped"))
		c.inspectStop(thread)
		c.ok("setFunctionBreakpoints", object{"breakpoints": []object{}})
		c.ok("continue", object{"threadId": thread})
		c.event("terminated")
		c.ok("disconnect", nil)
	})
}

// TestNoDebug only runs a program.
func TestNoDebug(t *testing.T) {
	exe, _ := plain(t)
	play(t, func(c *client) {
		c.initialize()
		c.ok("launch", object{"mode": "exec", "program": exe, "noDebug": true, "args": []string{"output"}, "outputMode": "remote"})
		c.event("terminated")
		c.request("threads", nil)
		c.request("stackTrace", object{"threadId": 1})
		c.ok("disconnect", nil)
	})
}

// TestOutput has the program's output sent as events.
func TestOutput(t *testing.T) {
	exe, _ := plain(t)
	play(t, func(c *client) {
		c.initialize()
		c.ok("launch", object{"mode": "exec", "program": exe, "args": []string{"output"}, "outputMode": "remote"})
		c.event("initialized")
		c.ok("configurationDone", nil)
		c.event("terminated")
		c.ok("disconnect", nil)
	})
}

// TestPanic stops at a panic, and restarts.
func TestPanic(t *testing.T) {
	exe, _ := plain(t)
	play(t, func(c *client) {
		thread := threadOf(t, c.launch(object{"mode": "exec", "program": exe, "args": []string{"panic"}}))
		c.ok("exceptionInfo", object{"threadId": thread})
		c.stack(thread, 0, 0)
		c.ok("threads", nil)
		c.ok("restart", object{"arguments": object{"request": "launch", "mode": "exec", "program": exe, "args": []string{"exit"}, "rebuild": false}})
		c.event("initialized")
		c.ok("configurationDone", nil)
		c.event("terminated")
		c.ok("disconnect", nil)
	})
}

// TestAttach attaches to a running process and leaves it running.
func TestAttach(t *testing.T) {
	exe, _ := plain(t)
	play(t, func(c *client) {
		cmd := exec.Command(exe, "wait")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // killed is what we want
		}()
		if _, err := out.Read(make([]byte, 7)); err != nil {
			t.Fatal(err)
		}
		c.initialize()
		c.ok("attach", object{"mode": "local", "processId": cmd.Process.Pid, "stopOnEntry": true})
		c.event("initialized")
		c.ok("configurationDone", nil)
		c.event("stopped")
		c.request("stackTrace", object{"threadId": 1, "levels": 1})
		c.ok("threads", nil)
		c.ok("disconnect", object{"terminateDebuggee": false})
		c.end()
		if state := processState(t, cmd.Process.Pid); state == "Z" || state == "T" || state == "t" {
			t.Errorf("the process is left in state %s", state)
		}
	})
}

// processState is the letter in /proc/PID/stat.
func processState(t testing.TB, pid int) string {
	t.Helper()
	out, err := exec.Command("ps", "-o", "state=", "-p", itoa(pid)).Output()
	if err != nil {
		t.Fatalf("process %d: %v", pid, err)
	}
	return string(bytes.TrimSpace(out))
}

// TestRunning asks while the program runs.
func TestRunning(t *testing.T) {
	exe, source := plain(t)
	play(t, func(c *client) {
		c.initialize()
		c.ok("launch", object{"mode": "exec", "program": exe, "args": []string{"wait"}, "outputMode": "remote"})
		c.event("initialized")
		c.ok("configurationDone", nil)
		c.until("output", func(m *dapwire.Message) bool { return strings.Contains(string(m.Bytes()), "waiting") })
		c.ok("threads", nil)
		c.request("stackTrace", object{"threadId": 1})
		c.request("scopes", object{"frameId": 1000})
		c.request("evaluate", object{"expression": "1"})
		c.request("continue", object{"threadId": 1})
		c.ok("setBreakpoints", breakpoints(source, line(t, source, breakpointText)))
		c.request("setDataBreakpoints", object{"breakpoints": []object{}})
		c.request("stackTrace", object{"threadId": 1})
		c.ok("pause", object{"threadId": 1})
		c.event("stopped")
		c.ok("disconnect", object{"terminateDebuggee": true})
	})
}

// TestRefusals sends requests that must be refused.
func TestRefusals(t *testing.T) {
	exe, source := plain(t)
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "main.go"), []byte("package main\nfunc main() { nonsense }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, "go.mod"), []byte("module broken\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	everything := []string{
		"threads", "stackTrace", "scopes", "variables", "evaluate", "setVariable", "setExpression", "continue", "next", "stepIn", "stepOut",
		"source", "modules", "loadedSources", "goto", "gotoTargets", "restartFrame", "stepInTargets", "terminate", "terminateThreads",
		"breakpointLocations", "cancel", "exceptionInfo", "disassemble", "readMemory", "writeMemory", "dataBreakpointInfo", "stepBack", "reverseContinue",
		"clew-has-never-heard-of-it", "",
	}
	play(t, func(c *client) {
		c.request("threads", nil) // before initialize
		c.request("initialize", object{"pathFormat": "uri", "linesStartAt1": true, "columnsStartAt1": true})
		c.initialize()
		for _, command := range everything {
			c.request(command, object{})
		}
		c.request("launch", object{})
		c.request("launch", object{"mode": "nonsense", "program": exe})
		c.request("launch", object{"mode": "exec", "program": "/nonexistent"})
		c.request("launch", object{"mode": "core", "program": exe})
		c.request("launch", object{"mode": "exec", "program": exe, "stackTraceDepth": "deep"})
		c.request("launch", object{"mode": "debug", "program": broken, "dlvCwd": broken})
		c.request("attach", object{})
		c.request("attach", object{"mode": "remote"})
		c.ok("launch", object{"mode": "exec", "program": exe, "dlvCwd": source, "stopOnEntry": true})
		c.event("initialized")
		c.request("launch", object{"mode": "exec", "program": exe})
		c.ok("configurationDone", nil)
		c.event("stopped")
		for _, command := range everything {
			switch command {
			case "continue", "next", "stepIn", "stepOut", "stepBack", "reverseContinue":
				continue // that would be running
			}
			c.request(command, object{"threadId": 77, "frameId": 77, "variablesReference": 77})
		}
		c.ok("disconnect", object{"terminateDebuggee": true})
	})
}

func itoa(n int) string { return strconv.Itoa(n) }
