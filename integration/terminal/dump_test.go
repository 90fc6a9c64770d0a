package terminal

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDelveDump: a core file that Delve's dump has written names no files: the stacks are those of the executable that it is named with,
// where that is the one that was dumped.
func TestDelveDump(t *testing.T) {
	need(t)
	exe, err := plain()
	if err != nil {
		t.Fatal(err)
	}
	core := filepath.Join(t.TempDir(), "core")
	dlv := session{tool: "dlv", args: []string{"exec"}, target: []string{exe, "deep", "3"}, script: []string{"continue", "stack", "dump " + core}}
	live := dlv.play(t)
	stack := func(exe string) string {
		out, _ := exec.Command(binary("clew"), "stack", "--core", core, exe).CombinedOutput() // 3: truncated
		return string(out)
	}
	whole := stack(exe)
	for _, want := range []string{"main.main", "runtime.goexit", "gopclntab"} {
		if !strings.Contains(whole, want) {
			t.Errorf("no %q:\n%s\nlive:\n%s", want, whole, live)
		}
	}
	for _, wrong := range []string{"truncated", "scan", "generated code"} {
		if strings.Contains(whole, wrong) {
			t.Errorf("%q:\n%s", wrong, whole)
		}
	}
	if other := stack(binary("dlv")); strings.Contains(other, "main.main") || !strings.Contains(other, "truncated") {
		t.Errorf("by another executable:\n%s", other)
	}
}
