package testkit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// Dump runs a program until the kernel writes a core file of it, and returns that and what the program has printed. The test is left out
// where no core file is written.
func Dump(t testing.TB, env []string, command ...string) (core, printed string) {
	t.Helper()
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(string(pattern), "|/") {
		testneed.LeaveOut(t, "core files go to %s; set kernel.core_pattern to core", strings.TrimSpace(string(pattern)))
	}
	dir := t.TempDir()
	cmd := exec.Command("sh", append([]string{"-c", `ulimit -c unlimited && exec "$0" "$@"`}, command...)...)
	cmd.Dir, cmd.Env = dir, env
	out, _ := cmd.CombinedOutput() // it crashes
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.CoreDump() {
		testneed.LeaveOut(t, "no core file is written here (%v): %.500s", cmd.ProcessState, out)
	}
	cores, err := filepath.Glob(filepath.Join(dir, "core*"))
	if err != nil || len(cores) != 1 {
		t.Fatalf("core files: %v, %v\n%.500s", cores, err, out)
	}
	return cores[0], string(out)
}

// Core is [Dump] without what was printed.
func Core(t testing.TB, env []string, command ...string) string {
	t.Helper()
	core, _ := Dump(t, env, command...)
	return core
}
