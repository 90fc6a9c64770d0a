package dap

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/dapwire"
)

// opens is testdata/opens, built, and its library.
type opens struct{ program, library, source string }

func buildOpens(t *testing.T) (o opens) {
	testneed.Ptrace(t)
	testneed.Platform(t, "linux/amd64")
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/opens")); err != nil {
		t.Fatal(err)
	}
	o = opens{filepath.Join(dir, "opens"), filepath.Join(dir, "libopened.so"), filepath.Join(dir, "lib", "opened.c")}
	for _, args := range [][]string{{testneed.CC(t), "-shared", "-fPIC", "-g", "-o", o.library, o.source}, {"go", "build", "-o", o.program, "."}} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOWORK=off", "GOFLAGS=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	return o
}

// begin launches the program, up to the configuration.
func (o *opens) begin(t *testing.T, args ...string) *client {
	c := start(t, binary("clew")).dial()
	c.initialize()
	c.ok("launch", object{"mode": "exec", "program": o.program, "args": append([]string{o.library}, args...)})
	c.event("initialized")
	return c
}

// breakAt sets breakpoints at lines of the library.
func (c *client) breakAt(source string, lines ...object) []dap.Breakpoint {
	c.t.Helper()
	var body dap.SetBreakpointsResponseBody
	decode(c.t, c.request("setBreakpoints", object{"source": object{"path": source}, "breakpoints": lines}), &body)
	return body.Breakpoints
}

// becomes waits until a breakpoint is placed, or pending.
func (c *client) becomes(id int, verified bool, line int) {
	c.t.Helper()
	m := c.until("a breakpoint's change", func(m *dapwire.Message) bool { return m.Event == "breakpoint" })
	var body dap.BreakpointEventBody
	if err := m.Decode("body", &body); err != nil {
		c.t.Fatal(err)
	}
	b := body.Breakpoint
	if body.Reason != "changed" || b.Id != id || b.Verified != verified || b.Line != line || verified != (b.Message == "") || b.Source == nil {
		c.t.Fatalf("%+v, want %d, verified %v, line %d", body, id, verified, line)
	}
}

// standsIn says that the program has stopped in the library, at a line.
func (c *client) standsIn(line int) (thread int64) {
	c.t.Helper()
	thread = threadOf(c.t, c.event("stopped"))
	if f := c.stack(thread, 0, 1).StackFrames; len(f) != 1 || f[0].Name != "opened" || f[0].Line != line {
		c.t.Fatalf("stopped in %+v", f)
	}
	return thread
}

// TestPending: a breakpoint in a library that is not loaded is pending, is placed when the library comes and pending when it goes, each of which
// the editor is told, and so again after a restart.
func TestPending(t *testing.T) {
	o := buildOpens(t)
	for name, args := range map[string][]string{"dlopen": {"2"}, "dlmopen": {"2", "apart"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := o.begin(t, args...)
			got := c.breakAt(o.source, object{"line": 2})
			if len(got) != 1 || got[0].Verified || got[0].Id == 0 || !strings.HasPrefix(got[0].Message, "pending: ") {
				t.Fatalf("%+v", got)
			}
			id := got[0].Id
			c.ok("configurationDone", nil)
			for run := range 2 {
				for again := range 2 {
					c.becomes(id, true, 2)
					thread := c.standsIn(2)
					if again == 0 {
						// It is placed: the editor that asks again is told so.
						if got := c.breakAt(o.source, object{"line": 2}); len(got) != 1 || !got[0].Verified || got[0].Id != id || got[0].Line != 2 {
							t.Fatalf("%+v", got)
						}
					} else if run == 0 {
						break // restarted while the library is there
					}
					c.ok("continue", object{"threadId": thread})
					c.becomes(id, false, 2)
				}
				if run == 0 {
					c.ok("restart", nil)
					c.becomes(id, false, 2)
					c.event("initialized")
					c.ok("configurationDone", nil)
				}
			}
			c.event("terminated")
			c.ok("disconnect", object{"terminateDebuggee": true})
			c.end()
		})
	}
}

// TestPendingForms: functions wait as lines do, with conditions on hits; what cannot come does not wait, and what is cleared is not placed.
func TestPendingForms(t *testing.T) {
	o := buildOpens(t)
	c := o.begin(t, "5")
	var body dap.SetFunctionBreakpointsResponseBody
	set := func(functions ...object) []dap.Breakpoint {
		t.Helper()
		decode(t, c.request("setFunctionBreakpoints", object{"breakpoints": functions}), &body)
		return body.Breakpoints
	}
	got := set(object{"name": "opened", "hitCondition": "3"}, object{"name": "main.opened"})
	if got[0].Verified || !strings.HasPrefix(got[0].Message, "pending: ") || got[1].Verified || strings.HasPrefix(got[1].Message, "pending: ") {
		t.Fatalf("%+v", got)
	}
	if got := c.breakAt(filepath.Join(filepath.Dir(o.program), "main.go"), object{"line": 25}); got[0].Verified || strings.HasPrefix(got[0].Message, "pending: ") {
		t.Fatalf("%+v", got) // Delve says what is wrong with a line of Go
	}
	c.ok("configurationDone", nil)
	thread := c.standsIn(2)
	var value struct{ Result string }
	decode(t, c.request("evaluate", object{"expression": "n", "context": "watch", "frameId": c.stack(thread, 0, 1).StackFrames[0].ID}), &value)
	if value.Result != "2" {
		t.Errorf("n is %s at the third call", value.Result)
	}
	var code dap.DisassembleResponseBody
	pc := c.stack(thread, 0, 1).StackFrames[0].PC
	decode(t, c.request("disassemble", object{"memoryReference": pc, "instructionOffset": -1, "instructionCount": 3}), &code)
	if len(code.Instructions) != 3 || code.Instructions[1].Address != pc || code.Instructions[1].Line != 2 || !strings.HasPrefix(code.Instructions[1].Instruction, "mov -0x") {
		t.Errorf("%+v", code)
	}
	set()
	c.ok("continue", object{"threadId": thread})
	c.event("terminated")
	c.ok("disconnect", object{"terminateDebuggee": true})
	c.end()
}

// TestPendingLoop: 500 libraries that come and go are no more than that.
func TestPendingLoop(t *testing.T) {
	o := buildOpens(t)
	c := o.begin(t, "500")
	c.breakAt(o.source, object{"line": 2, "hitCondition": "500"})
	c.ok("configurationDone", nil)
	thread := c.standsIn(2)
	c.ok("continue", object{"threadId": thread})
	c.event("terminated")
	c.ok("disconnect", object{"terminateDebuggee": true})
	c.end()
}
