package listing

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
)

// TestRefusedRead: where a seccomp profile forbids process_vm_readv, that is said, not what could not be found without it.
func TestRefusedRead(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	pid := strconv.Itoa(startReady(t, "leak").Process.Pid)
	refuses := filepath.Join(t.TempDir(), "refuses")
	if err := testkit.Go("build", "-o", refuses, "./testdata/refuses"); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--max-pause", "1s"}, nil} {
		c := exec.Command(refuses, append([]string{clewPath, "stack", "--pid", pid}, args...)...)
		var said bytes.Buffer
		c.Stderr = &said
		page, err := c.Output()
		if !strings.Contains(said.String(), "process_vm_readv is refused (operation not permitted)") || strings.Contains(said.String(), "module data") {
			t.Errorf("%v: %s", args, said.String())
		}
		if args == nil && (err != nil || !strings.Contains(string(page), "main.fetch")) { // a debugger reads in another way
			t.Errorf("%v: %.500s", err, page)
		} else if args != nil && c.ProcessState.ExitCode() != 1 {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// TestReaderGone: head, which closes the pipe, is no failure.
func TestReaderGone(t *testing.T) {
	pid := strconv.Itoa(startReady(t, "leak").Process.Pid)
	for _, args := range [][]string{{"--group", "none"}, {"--format", "json"}} {
		c := exec.Command(clewPath, append([]string{"stack", "--pid", pid}, args...)...)
		var said bytes.Buffer
		c.Stderr = &said
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReaderSize(out, 16).Peek(1); err != nil {
			t.Fatal(err)
		}
		_ = out.Close()
		if err := c.Wait(); err != nil || said.Len() > 0 {
			t.Errorf("%v: %v: %s", args, err, said.String())
		}
	}
}

// TestNoConfiguration: a configuration that the user has not named and that cannot be read is a warning.
func TestNoConfiguration(t *testing.T) {
	pid := strconv.Itoa(startReady(t, "leak").Process.Pid)
	t.Setenv("XDG_CONFIG_HOME", "/dev/null")
	if _, said, code := tryStack(t, "--pid", pid, "--limit", "1"); code != 0 || strings.Count(said, "\n") != 1 || !strings.Contains(said, "the configuration is not used: ") {
		t.Errorf("exit code %d: %s", code, said)
	}
	if _, said, code := tryStack(t, "--pid", pid, "--clew-config", "/dev/null/clew.json"); code != 1 {
		t.Errorf("one that is named: exit code %d: %s", code, said)
	}
	folder := filepath.Join(t.TempDir(), "clew")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "clew.json"), []byte(`{"stratgies": []}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CONFIG_HOME", filepath.Dir(folder))
	if _, said, code := tryStack(t, "--pid", pid); code != 1 || !strings.Contains(said, "stratgies") {
		t.Errorf("one that is wrong: exit code %d: %s", code, said)
	}
}

// TestOwn: a headline names the innermost function of the user's own code, and --own says what is.
func TestOwn(t *testing.T) {
	pid := strconv.Itoa(startReady(t, "hang").Process.Pid)
	page, _, _ := tryStack(t, "--pid", pid, "--own", "libc.so*")
	if !strings.Contains(page, " in futex_wait [inlined]") && !strings.Contains(page, " in __GI___lll_lock_wait") {
		t.Errorf("with the C library as one's own:\n%.1000s", page)
	}
	if _, said, code := tryStack(t, "--pid", pid, "--own", "["); code != 2 || !strings.Contains(said, "--own") {
		t.Errorf("exit code %d: %s", code, said)
	}
}
