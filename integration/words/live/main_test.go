//go:build linux

package live

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// patience bounds one session.
const patience = 3 * time.Minute

// workFolder holds clew and the program that is debugged.
var workFolder string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if workFolder, err = os.MkdirTemp("", "clew-live-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(workFolder)
		if err := setUp(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// setUp keeps the user's own configuration out, and builds clew. One P makes the numbers
// of goroutines the same in each run.
func setUp() error {
	config := filepath.Join(workFolder, "config")
	if err := os.MkdirAll(filepath.Join(config, "clew"), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(config, "clew", "clew.json"), []byte(`{"walkTimeout": "30s", "stackTimeout": "2m"}`), 0o600); err != nil {
		return err
	}
	for name, value := range map[string]string{"XDG_CONFIG_HOME": config, "TERM": "dumb", "NO_COLOR": "1", "GOMAXPROCS": "1", "GOTRACEBACK": "crash"} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return build(".", "clew", "github.com/clewdbg/clew/cmd/clew")
}

func build(dir, name, what string) error {
	cmd := exec.Command("go", "build", "-o", binary(name), what)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}

func binary(name string) string { return filepath.Join(workFolder, name) }

// mixed builds the program once, and returns the lines of its sources that are marked.
func mixed(t *testing.T) (exe string, marks map[string]place) {
	t.Helper()
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	t.Setenv("CC", testneed.Tool(t, "gcc"))
	t.Setenv("CXX", testneed.Tool(t, "g++"))
	t.Setenv("CGO_ENABLED", "1")
	t.Setenv("CGO_CFLAGS", "-O2 -g")
	t.Setenv("CGO_CXXFLAGS", "-O2 -g")
	dir := filepath.Join(workFolder, "mixed-src")
	if _, err := os.Stat(binary("mixed")); err != nil {
		if err := os.CopyFS(dir, os.DirFS("testdata/mixed")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module mixed\n\ngo 1.24\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := build(dir, "mixed", "."); err != nil {
			t.Fatal(err)
		}
	}
	marks = make(map[string]place)
	for _, name := range []string{"main.go", "leaf.c", "work.cc"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if _, mark, ok := strings.Cut(line, "// line: "); ok {
				marks[mark] = place{name, i + 1}
			}
		}
	}
	return binary("mixed"), marks
}

// sameAddresses has what this thread executes from now on loaded at the same addresses
// each time.
func sameAddresses(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	const addrNoRandomize = 0x0040000
	before, _, errno := syscall.RawSyscall(syscall.SYS_PERSONALITY, 0xffffffff, 0, 0)
	if errno == 0 {
		_, _, errno = syscall.RawSyscall(syscall.SYS_PERSONALITY, before|addrNoRandomize, 0, 0)
	}
	if errno != 0 {
		t.Fatalf("personality: %v", errno)
	}
	t.Cleanup(func() {
		_, _, _ = syscall.RawSyscall(syscall.SYS_PERSONALITY, before, 0, 0)
		runtime.UnlockOSThread()
	})
}

// crash runs the program until the kernel writes a core file of it.
func crash(t *testing.T, exe, stop string) (core string) {
	t.Helper()
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(string(pattern), "|/") {
		testneed.LeaveOut(t, "core files go to %s; set kernel.core_pattern to core", strings.TrimSpace(string(pattern)))
	}
	cmd := exec.Command("sh", "-c", `ulimit -c unlimited && exec "$0" "$@"`, exe, stop)
	cmd.Dir = t.TempDir()
	out, _ := cmd.CombinedOutput() // it crashes
	cores, err := filepath.Glob(filepath.Join(cmd.Dir, "core*"))
	if err != nil || len(cores) == 0 {
		testneed.LeaveOut(t, "no core file is written here (%v): %.500s", cmd.ProcessState, out)
	}
	return cores[0]
}
