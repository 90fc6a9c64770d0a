package dap

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// glueName matches the functions between Go and C.
var glueName = regexp.MustCompile(`^(_cgo_|runtime\.(cgocall|asmcgocall)|.*\._Cfunc_)`)

// TestStepOut steps out of every function in turn, through C code that Delve
// knows no callers of, up to Go: each step leads to the caller that the stack
// has shown, or to the first that is not glue, and the program computes the same as without a debugger.
func TestStepOut(t *testing.T) {
	testneed.Ptrace(t)
	for _, tt := range []struct {
		name    string
		through bool
	}{{"static-O2-omit", false}, {"static-O2-omit", true}, {"opened-O2-fp-stripped", true}} {
		name := tt.name
		t.Run(fmt.Sprintf("%s, through glue %v", name, tt.through), func(t *testing.T) {
			t.Parallel()
			p := native(t, name)
			c := start(t, binary("clew")).dial()
			c.numbered = true
			stem := t.TempDir() + "/record"
			c.initialize()
			c.ok("launch", object{"mode": "exec", "program": p.Path, "args": []string{"plain", "int3", stem}, "env": object{"NATIVE_LIBRARY": p.Library}, "outputMode": "remote",
				"clew": object{"stepThroughGlue": tt.through}})
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
				to := 1
				for tt.through && glueName.MatchString(before.StackFrames[to].Name) {
					to++
				}
				if got, want := after.StackFrames[0], before.StackFrames[to]; got.PC != want.PC {
					t.Errorf("out of %s: at %s (%s), want %s (%s)", top, got.PC, got.Name, want.PC, want.Name)
				}
				if got, want := len(after.StackFrames), len(before.StackFrames)-to; got != want {
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
