package integration

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestDemo runs the demo as a new user would, with a C compiler and without.
func TestDemo(t *testing.T) {
	testneed.Ptrace(t)
	const equal = "Written, read back and found equal"
	t.Run("C", func(t *testing.T) {
		cmd := exec.Command(clewPath(), "demo")
		cmd.Env = append(os.Environ(), "CC="+testneed.CC(t))
		inOrder(t, run(t, cmd).want(t, done), "stop_here", "froth", "runtime.asmcgocall", "main.refill", "main.pour",
			"crosscall2", "crush", "grind", "runtime.asmcgocall", "main.brew", "main.main", "runtime.goexit", equal)
	})
	t.Run("pure", func(t *testing.T) {
		cmd := exec.Command(clewPath(), "demo")
		cmd.Env = append(os.Environ(), "CC=no-such-compiler")
		inOrder(t, run(t, cmd).want(t, done), "No C compiler found", "main.main", "runtime.goexit", equal)
	})
	t.Run("without Go", func(t *testing.T) {
		cmd := exec.Command(clewPath(), "demo")
		cmd.Env = append(os.Environ(), "PATH="+t.TempDir())
		inOrder(t, run(t, cmd).want(t, done), "No go command found", "main.refill",
			"clew/demoprogram.go:", "main.brew", "main.main", "runtime.goexit", equal)
	})
}

// inOrder demands that the words come on stdout one after another.
func inOrder(t testing.TB, o outcome, words ...string) {
	t.Helper()
	rest := o.stdout
	for _, w := range words {
		_, after, found := strings.Cut(rest, w)
		if !found {
			t.Errorf("%q is missing or too early: %v", w, o)
			return
		}
		rest = after
	}
}
