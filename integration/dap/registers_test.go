package dap

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/dapwire"
)

// TestRegistersSet: clew has Delve remember a stack while an editor lists the frames of a stop
// (KeepStack). A variable in a register that the user then sets has its new value at once, in every frame's
// answer, and in the program.
func TestRegistersSet(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	testneed.CC(t)
	source, err := filepath.Abs(filepath.Join("testdata", "registers"))
	if err != nil {
		t.Fatal(err)
	}
	if err := buildGo(source, "registers", "."); err != nil {
		t.Fatal(err)
	}
	c := start(t, binary("clew")).dial()
	path := filepath.Join(source, "main.go")
	c.initialize()
	c.ok("launch", object{"mode": "exec", "program": binary("registers"), "outputMode": "remote"})
	c.event("initialized")
	c.ok("setBreakpoints", object{"source": object{"path": path}, "breakpoints": []object{{"line": lineOf(t, path, "// stop here")}}})
	c.ok("configurationDone", nil)
	thread := threadOf(t, c.event("stopped"))
	c.ok("threads", nil)
	top := c.stack(thread, 0, 1).StackFrames[0]
	below := c.stack(thread, 1, 19)
	below.named(t, "runtime.asmcgocall")
	shows := func(want string) {
		t.Helper()
		var n struct{ Result string }
		decode(t, c.request("evaluate", object{"expression": "n", "frameId": top.ID, "context": "watch"}), &n)
		if n.Result != want {
			t.Errorf("n is %s, want %s", n.Result, want)
		}
		var at int64
		for _, s := range c.scopes(top.ID) {
			if strings.HasPrefix(s.Name, "Locals") {
				at = s.VariablesReference
			}
		}
		if got := c.values(at)["n"].Value; got != want {
			t.Errorf("n is shown as %s, want %s", got, want)
		}
		if want == "5" {
			c.ok("setVariable", object{"variablesReference": at, "name": "n", "value": "77"})
		}
	}
	shows("5")
	shows("77")
	top = c.stack(thread, 0, 20).StackFrames[0]
	shows("77")
	c.ok("continue", object{"threadId": thread})
	printed := string(c.until("output", func(m *dapwire.Message) bool { return strings.Contains(string(m.Bytes()), "n is") }).Bytes())
	if !strings.Contains(printed, `"n is 77\n"`) {
		t.Errorf("the program prints %s", printed)
	}
	c.disconnect()
}
