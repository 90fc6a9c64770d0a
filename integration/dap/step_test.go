package dap

import (
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestStepOut steps out of every function in turn, through C code that Delve
// knows no callers of, up to Go: each step leads to the caller that the stack
// has shown, and the program computes the same as without a debugger.
func TestStepOut(t *testing.T) {
	testneed.Ptrace(t)
	for _, name := range []string{"static-O2-omit", "opened-O2-fp-stripped"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := native(t, name)
			c := start(t, binary("clew")).dial()
			c.numbered = true
			stem := t.TempDir() + "/record"
			c.initialize()
			c.ok("launch", object{"mode": "exec", "program": p.Path, "args": []string{"plain", "int3", stem}, "env": object{"NATIVE_LIBRARY": p.Library}, "outputMode": "remote"})
			c.event("initialized")
			c.ok("configurationDone", nil)
			thread := threadOf(t, c.event("stopped"))
			before := c.stack(thread, 0, 50)
			for steps := 0; ; steps++ {
				top := before.StackFrames[0].Name
				if top == "main.first" {
					break
				}
				if steps == 20 {
					t.Fatalf("after %d steps in %s", steps, top)
				}
				m := c.request("stepOut", object{"threadId": thread})
				if m.Command != "stepOut" {
					t.Errorf("the answer is to %s", m.Command)
				}
				if !m.Success {
					if !strings.Contains(string(m.Bytes()), "refused") {
						t.Errorf("%s", m.Bytes())
					}
					t.Fatalf("out of %s: %s", top, m.Bytes())
				}
				stopped := c.event("stopped")
				if stopped["reason"] != "step" {
					t.Fatalf("out of %s: %v", top, stopped)
				}
				thread = threadOf(t, stopped)
				after := c.stack(thread, 0, 50)
				if got, want := after.StackFrames[0], before.StackFrames[1]; got.PC != want.PC {
					t.Errorf("out of %s: at %s (%s), want %s (%s)", top, got.PC, got.Name, want.PC, want.Name)
				}
				if got, want := len(after.StackFrames), len(before.StackFrames)-1; got != want {
					t.Errorf("out of %s: %d frames, want %d", top, got, want)
				}
				before = after
			}
			c.ok("continue", object{"threadId": thread})
			c.event("terminated")
			text := ""
			for _, m := range c.all {
				if m.Event == "output" {
					text += body(t, m)["output"].(string)
				}
			}
			if !strings.Contains(text, "checksum") {
				t.Errorf("the program did not end as it should: %q", text)
			}
			c.ok("disconnect", nil)
			c.end()
		})
	}
}
