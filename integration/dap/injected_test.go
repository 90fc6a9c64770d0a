package dap

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestInjectedCall stops in a function that an expression has called: its callers
// are the runtime's frames for such calls, and steps lead to them.
func TestInjectedCall(t *testing.T) {
	exe, _ := plain(t)
	play(t, func(c *client) {
		c.initialize()
		c.ok("launch", object{"mode": "exec", "program": exe, "args": []string{"work"}, "outputMode": "remote"})
		c.event("initialized")
		c.ok("setFunctionBreakpoints", object{"breakpoints": []object{{"name": "main.sum"}}})
		c.ok("configurationDone", nil)
		thread := threadOf(t, c.event("stopped"))
		frame := c.stack(thread, 0, 1).StackFrames[0].ID
		c.request("evaluate", object{"expression": "call sum(1, 2)", "frameId": frame, "context": "repl"})
		stopped := c.event("stopped")
		inner := threadOf(t, stopped)
		if s := c.stack(inner, 0, 50); len(s.StackFrames) < 4 || s.StackFrames[0].Name != "main.sum" || !strings.HasPrefix(s.StackFrames[1].Name, "debugCall") {
			t.Errorf("the stack of the call: %+v", s)
		}
		c.stack(thread, 0, 50)
		c.ok("stepOut", object{"threadId": inner})
		c.stack(threadOf(t, c.event("stopped")), 0, 50)
		c.ok("disconnect", object{"terminateDebuggee": true})
	})
}

// TestSubstitutePathConsole: rules that are made and taken back in the console
// hold for every frame of a stack, whoever has found it.
func TestSubstitutePathConsole(t *testing.T) {
	p := locals(t)
	c := start(t, binary("clew")).dial()
	thread := c.launchLocals(p, lineOf(t, p.source, "// stop here"))
	paths := func(command string) (folders map[string]int) {
		t.Helper()
		c.ok("evaluate", object{"expression": command, "context": "repl"})
		folders = map[string]int{}
		for _, f := range c.stack(thread, 0, 50).StackFrames {
			if filepath.Base(f.Source.Path) == "main.go" {
				owner := "Delve's "
				if f.ID >= firstClewID {
					owner = "clew's "
				}
				folders[owner+filepath.Dir(f.Source.Path)]++
			}
		}
		return folders
	}
	real := filepath.Dir(p.source)
	before := paths("dlv config -list")
	if before["Delve's "+real] == 0 || before["clew's "+real] == 0 {
		t.Fatalf("not both have frames of this program: %v", before)
	}
	for _, step := range []struct{ command, folder string }{
		{"dlv config substitutePath /elsewhere " + real, "/elsewhere"},
		{"dlv config substitutePath", "/elsewhere"},
		{"dlv config substitutePath /elsewhere /nowhere", real},
		{`dlv config substitutePath "/elsewhere" "` + real + `"`, "/elsewhere"},
		{"dlv config substitutePath /elsewhere", real},
		{"dlv config substitutePath /other " + real, "/other"},
		{"dlv config substitutePath -clear", real},
	} {
		got := paths(step.command)
		if got["Delve's "+step.folder] != before["Delve's "+real] || got["clew's "+step.folder] != before["clew's "+real] {
			t.Errorf("after %s: %v, want all in %s", step.command, got, step.folder)
		}
	}
	c.disconnect()
}
