//go:build linux

package live

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
)

// patience bounds one session.
const patience = 3 * time.Minute

func TestMain(m *testing.M) { testkit.Main(m, testkit.Clew, setUp) }

// setUp keeps the user's own configuration out. One P makes the numbers of goroutines the same in each run.
func setUp() error {
	return errors.Join(testkit.Config(`{"walkTimeout": "30s", "stackTimeout": "2m"}`),
		os.Setenv("TERM", "dumb"), os.Setenv("NO_COLOR", "1"), os.Setenv("GOMAXPROCS", "1"), os.Setenv("GOTRACEBACK", "crash"))
}

func binary(name string) string { return testkit.Path(name) }

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
	dir := binary("mixed-src")
	if _, err := os.Stat(binary("mixed")); err != nil {
		if err := errors.Join(testkit.Module(dir, "testdata/mixed"), testkit.GoIn(dir, nil, "build", "-o", binary("mixed"), ".")); err != nil {
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
