package terminal

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestFunctionBreakpoint: a breakpoint at a function of native code that has no DWARF, by its symbol.
func TestFunctionBreakpoint(t *testing.T) {
	need(t)
	p := native(t, "static-O2-omit")
	s := session{
		tool: "clew", args: []string{"exec"}, target: []string{p.Path, "plain", "break", filepath.Join(t.TempDir(), "record")}, env: p.Env(),
		script: []string{"break leaf_break", "break none_such", "continue", "stack 1"},
	}
	out := s.play(t)
	for _, want := range []string{"Breakpoint 1 set at 0x", "> [Breakpoint 1] leaf_break() ", "in leaf_break\n", "none_such"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q:\n%s", want, out)
		}
	}
}
