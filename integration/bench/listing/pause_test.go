package listing

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// hard starts a program with a clock; still returns for how long it stood still since the call before.
func hard(t *testing.T, name string, args ...string) (pid int, still func() time.Duration) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "clock")
	if err := os.WriteFile(file, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := startReady(t, name, append(args, file)...)
	t.Cleanup(func() { // a child of vfork(2)
		children, _ := filepath.Glob("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/task/*/children")
		for _, list := range children {
			text, _ := os.ReadFile(list)
			for _, child := range strings.Fields(string(text)) {
				if pid, err := strconv.Atoi(child); err == nil {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
		}
	})
	clock, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = clock.Close() })
	return cmd.Process.Pid, func() time.Duration {
		time.Sleep(50 * time.Millisecond) // its own thread looks at the clock again
		var gap [8]byte
		if _, err := clock.ReadAt(gap[:], 0); err != nil {
			t.Fatal(err)
		}
		if _, err := clock.WriteAt(make([]byte, 8), 0); err != nil {
			t.Fatal(err)
		}
		return time.Duration(binary.LittleEndian.Uint64(gap[:]))
	}
}

// within lists a process, again where the machine was too busy, and fails if it stands still for too long.
func within(t *testing.T, pid int, still func() time.Duration, limit time.Duration, args ...string) (out, said string, code int) {
	t.Helper()
	const tries = 4
	for try := 0; ; try++ {
		still()
		out, said, code = tryStack(t, append([]string{"--pid", strconv.Itoa(pid)}, args...)...)
		got := still()
		if got <= limit+over {
			return out, said, code
		}
		if try == tries {
			t.Fatalf("%v: it stood still for %v", args, got)
		}
	}
}

var headline = regexp.MustCompile(`process \d+: ([\d,]+) goroutines, (\d+) threads`)

// goroutinesIn is how many goroutines a page has.
func goroutinesIn(t *testing.T, page string) int {
	t.Helper()
	m := headline.FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("no headline: %.300s", page)
	}
	n, _ := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
	return n
}

// TestMaxPause: of very many goroutines as many are listed as there is time for, those in C first; the others are counted, and come in
// further rounds.
func TestMaxPause(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	const all, inC = 150_000, 20
	pid, still := hard(t, "many", strconv.Itoa(all), strconv.Itoa(inC))
	limit := 40 * time.Millisecond
	page, said, code := within(t, pid, still, limit, "--max-pause", limit.String())
	if n := goroutinesIn(t, page); n >= all || n < inC || !strings.Contains(page, " 20 syscall\n") {
		t.Errorf("%d goroutines:\n%.1000s", n, page)
	}
	if code != 3 || !strings.Contains(said, "places in the runtime's list of goroutines were not copied within --max-pause 40ms") || !strings.Contains(said, "--rounds") {
		t.Errorf("exit code %d: %s", code, said)
	}
	page, said, code = within(t, pid, still, limit, "--max-pause", limit.String(), "--rounds", "500")
	if n := goroutinesIn(t, page); code != 0 || n < all || n > all+20 {
		t.Errorf("in rounds: exit code %d, %d goroutines: %s", code, n, said)
	}
	c := exec.Command(clewPath, "stack", "--pid", strconv.Itoa(pid), "--max-pause", "0", "--format", "pprof", "-o", filepath.Join(t.TempDir(), "all"))
	if err := c.Run(); err != nil {
		t.Error(err)
	}
	if usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage); !ok || usage.Maxrss > 512<<10 {
		t.Errorf("%d kB", usage.Maxrss)
	}
	for _, tiny := range []string{"1ms", "1ns"} {
		if _, said, code := within(t, pid, still, 0, "--max-pause", tiny); code == 0 || said == "" {
			t.Errorf("%s: exit code %d: %s", tiny, code, said)
		}
	}
	goesOn(t, pid)
}

// TestHard: a thread that cannot be interrupted is named and not waited for; threads that come and go, and a list that lies, cost
// neither more time nor the listing.
func TestHard(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	limit := 300 * time.Millisecond
	for name, check := range map[string]func(t *testing.T, page, said string, code int){
		"sleep": func(t *testing.T, page, said string, code int) {
			if n := goroutinesIn(t, page); n < 20 || !strings.Contains(said, "(state D, in ") || strings.Count(said, "\n") != 1 {
				t.Errorf("%d goroutines, exit code %d: %s", n, code, said)
			}
		},
		"storm": func(t *testing.T, page, said string, code int) {
			if n := goroutinesIn(t, page); n < 20 || code != 0 && code != 3 {
				t.Errorf("%d goroutines, exit code %d: %s", n, code, said)
			}
		},
		"liar": func(t *testing.T, page, said string, code int) {
			if code != 3 || !strings.Contains(said, "16777216") && !strings.Contains(said, "16,777,216") || strings.Count(said, "\n") > 6 {
				t.Errorf("exit code %d: %s", code, said)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			pid, still := hard(t, "hard", name)
			for range 4 {
				page, said, code := within(t, pid, still, limit, "--max-pause", limit.String())
				check(t, page, said, code)
			}
			if name != "sleep" {
				goesOn(t, pid)
			}
		})
	}
}

// TestPauseFlags: what the flags mean nothing for is refused.
func TestPauseFlags(t *testing.T) {
	for _, args := range [][]string{
		{"--pid", "1", "--max-pause", "-1s"}, {"--pid", "1", "--rounds", "0"}, {"--max-pause", "1s", "--", "true"}, {"--pid", "1", "--goroutine", "1", "--rounds", "2"},
		{"--pid", "1", "--rounds", "2", "--values", "all"}, {"--pid", "1", "--rounds", "2", "--watch", "1s"}, {"--pid", "1", "--format", "snapshot", "-o", "x", "--max-pause", "1s"},
	} {
		if _, said, code := tryStack(t, args...); code != 2 || !strings.Contains(said, "--max-pause") && !strings.Contains(said, "--rounds") {
			t.Errorf("%v: exit code %d: %s", args, code, said)
		}
	}
}
