package dap

import (
	"path/filepath"
	"testing"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestFunctionBreakpoint: an editor sets breakpoints at functions of native code that has no DWARF, by their
// symbols; conditions on hits hold there, and what no image has is not verified.
func TestFunctionBreakpoint(t *testing.T) {
	testneed.Ptrace(t)
	p := native(t, "static-O2-omit")
	c := start(t, binary("clew")).dial()
	c.initialize()
	c.ok("launch", object{"mode": "exec", "program": p.Path, "args": []string{"plain", "break", filepath.Join(t.TempDir(), "record")}})
	c.event("initialized")
	set := func(functions ...object) []dap.Breakpoint {
		var body dap.SetFunctionBreakpointsResponseBody
		decode(t, c.request("setFunctionBreakpoints", object{"breakpoints": functions}), &body)
		return body.Breakpoints
	}
	got := set(object{"name": "leaf_break"}, object{"name": "main.main"}, object{"name": "none_such"})
	if len(got) != 3 || !got[0].Verified || !got[1].Verified || got[2].Verified || got[2].Message == "" {
		t.Fatalf("%+v", got)
	}
	c.ok("configurationDone", nil)
	stops := func(function string) {
		t.Helper()
		event := c.event("stopped")
		if f := c.stack(threadOf(t, event), 0, 1).StackFrames; len(f) != 1 || f[0].Name != function || event["reason"] != "function breakpoint" {
			t.Fatalf("stopped for %v in %+v, want %s", event["reason"], f, function)
		}
	}
	stops("main.main")
	c.send("continue", object{"threadId": 1})
	stops("leaf_break")
	// A library is there by now, which the program was linked with.
	if got := set(object{"name": "write"}); len(got) != 1 || !got[0].Verified {
		t.Errorf("%+v", got)
	}
	if got := set(); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	c.disconnect()
}
