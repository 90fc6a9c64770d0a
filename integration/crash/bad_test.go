//go:build linux

package crash

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
)

// TestMissing: where clew is not there, a line says so, and nothing else changes.
func TestMissing(t *testing.T) {
	program := dies(t, false)
	_, stderr, without := run(t, "", nil, program, "panic")
	_, got, with := run(t, "", []string{"REPORTS=" + t.TempDir(), "CLEW=/nowhere/clew"}, program, "panic")
	line, rest, _ := strings.Cut(got, "\n")
	if !strings.Contains(line, "crash reports are off") || plain(rest) != plain(stderr) || with.ExitCode() != without.ExitCode() {
		t.Errorf("%v\n%s", with, got)
	}
	// What is there and is not clew.
	_, got, with = run(t, "", []string{"REPORTS=" + t.TempDir(), "CLEW=/bin/true"}, program, "panic")
	if !strings.Contains(got, "is it clew?") || with.ExitCode() != without.ExitCode() {
		t.Errorf("%v\n%s", with, got)
	}
}

// TestKilled: a guard that is killed while the program lives costs nothing but the report.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(dies(t, false), "sigwait")
	cmd.Env = append(os.Environ(), "REPORTS="+dir, "CLEW="+testkit.Path("clew"))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := 0
	for deadline := time.Now().Add(testneed.Patience(20 * time.Second)); pid == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("there is no guard")
		}
		for _, p := range pids(t, dir) {
			pid = p
		}
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	_ = cmd.Process.Signal(syscall.SIGUSR2) // which the program panics at
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		if exit := new(exec.ExitError); !errors.As(err, &exit) {
			t.Fatal(err)
		}
	case <-time.After(testneed.Patience(20 * time.Second)):
		_ = cmd.Process.Kill()
		t.Fatal("the program hangs")
	}
	if code := cmd.ProcessState.ExitCode(); code != 2 || !strings.HasPrefix(stderr.String(), "panic: told to") {
		t.Errorf("exit code %d\n%s", code, stderr.String())
	}
	none(t, dir)
}

// pids are the processes that serve a folder for reports.
func pids(t testing.TB, dir string) (out []int) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), dir) && strings.Contains(string(text), "crash-monitor\x00--wait") {
			var pid int
			if _, err := fmt.Sscanf(path, "/proc/%d/", &pid); err == nil {
				out = append(out, pid)
			}
		}
	}
	return out
}

// TestFolders: nothing is written into another user's folder, or through a link.
func TestFolders(t *testing.T) {
	program := dies(t, false)
	if os.Geteuid() == 0 {
		foreign := t.TempDir()
		if err := os.Chown(foreign, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		if _, _, state := run(t, "", []string{"REPORTS=" + foreign, "CLEW=" + testkit.Path("clew")}, program, "panic"); state.ExitCode() != 2 {
			t.Errorf("%v", state)
		}
		time.Sleep(time.Second)
		if entries, err := os.ReadDir(foreign); err != nil || len(entries) > 0 {
			t.Errorf("in another user's folder: %v, %v", entries, err)
		}
	}
	// A link that has the log's name leads elsewhere.
	dir, target := t.TempDir(), filepath.Join(t.TempDir(), "target")
	if err := os.Symlink(target, filepath.Join(dir, "monitor.log")); err != nil {
		t.Fatal(err)
	}
	open := t.TempDir()
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{dir, open} {
		if _, _, state := run(t, "", []string{"REPORTS=" + folder, "CLEW=" + testkit.Path("clew")}, program, "panic"); state.ExitCode() != 2 {
			t.Errorf("%v", state)
		}
	}
	theReport(t, dir)
	if _, err := os.Stat(target); err == nil {
		t.Error("something was written through a link")
	}
	none(t, open)
}

// TestAtOnce: of twenty programs that die at once every report is whole, and of thirty-five in a minute the last ones have none.
func TestAtOnce(t *testing.T) {
	program, dir := dies(t, false), filepath.Join(t.TempDir(), "reports")
	var all sync.WaitGroup
	for i := range 20 {
		all.Add(1)
		go func() {
			defer all.Done()
			how := []string{"read", "panic", "heap", "nil"}[i%4]
			cmd := exec.Command(program, how)
			cmd.Env = append(os.Environ(), "REPORTS="+dir, "CLEW="+testkit.Path("clew"))
			if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 2 {
				t.Errorf("%s: %v %.300s", how, cmd.ProcessState, out)
			}
		}()
	}
	all.Wait()
	settled(t, dir)
	whole := func() (n int) {
		found, err := filepath.Glob(filepath.Join(dir, "*.crash"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			check(t, path, readReport(t, path))
		}
		return len(found)
	}
	if n := whole(); n != 20 {
		log, _ := os.ReadFile(filepath.Join(dir, "monitor.log"))
		t.Errorf("%d reports of 20\n%s", n, log)
	}
	for range 15 {
		run(t, "", []string{"REPORTS=" + dir, "CLEW=" + testkit.Path("clew")}, program, "alone-panic")
	}
	settled(t, dir)
	if n := whole(); n < 20 || n > 35 {
		t.Errorf("%d reports", n)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".crash") && e.Name() != "monitor.log" {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// settled waits until no process serves a folder any more.
func settled(t testing.TB, dir string) {
	t.Helper()
	for deadline := time.Now().Add(testneed.Patience(60 * time.Second)); len(guards(t, dir)) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("left running: %v", guards(t, dir))
		}
	}
}

// TestContainer: in a container of its own, where all processes die with the first, the report of that one is written.
func TestContainer(t *testing.T) {
	testneed.Ptrace(t)
	if err := exec.Command("unshare", "--pid", "--fork", "--mount-proc", "true").Run(); err != nil {
		testneed.LeaveOut(t, "no namespaces can be made here: %v", err)
	}
	dir := filepath.Join(t.TempDir(), "reports")
	_, stderr, state := run(t, "", []string{"REPORTS=" + dir, "CLEW=" + testkit.Path("clew")}, "unshare", "--pid", "--fork", "--mount-proc", dies(t, false), "read")
	if state.ExitCode() != 2 {
		t.Fatalf("%v\n%.300s", state, stderr)
	}
	r, _ := theReport(t, dir)
	for _, w := range ways {
		if w.how == "read" {
			w.check(t, r, stderr, w.signal)
		}
	}
}

// TestSymbolize: the report of a stripped program, named by the file that it was stripped from, is the report of that.
func TestSymbolize(t *testing.T) {
	program := dies(t, false)
	folder := t.TempDir()
	stripped := filepath.Join(folder, "stripped")
	if out, err := exec.Command(testneed.Tool(t, "strip"), "-o", stripped, program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, how := range []string{"read", "panic", "assert"} {
		dir, _, _, _ := reported(t, stripped, how)
		bare, path := theReport(t, dir)
		dir, _, _, _ = reported(t, program, how)
		want, _ := theReport(t, dir)
		out := filepath.Join(folder, how+".json")
		if _, errs, state := run(t, "", nil, testkit.Path("clew"), "crash", "symbolize", path, "--symbols", filepath.Dir(program), "--format", "json", "-o", out); state.ExitCode() != 0 {
			t.Fatalf("%v\n%s", state, errs)
		}
		if err := os.Mkdir(filepath.Join(folder, how), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(out, filepath.Join(folder, how, "report.json")); err != nil {
			t.Fatal(err)
		}
		named := readReport(t, filepath.Join(folder, how))
		if a, b := fromDeath(named), fromDeath(want); !slices.Equal(a, b) {
			t.Errorf("%s: named it is\n%s\nthe other\n%s\nbefore\n%s", how, strings.Join(a, "\n"), strings.Join(b, "\n"), strings.Join(fromDeath(bare), "\n"))
		}
	}
}
