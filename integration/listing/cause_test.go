package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// causes are programs that hang or leak, and what shows why: docs/listing.md has their
// pages.
var causes = map[string][]string{
	"deadlock": {"sync.Mutex.Lock", "40 goroutines", "main.report", "main.transfer", "created by main.main"},
	"leak":     {"chan send", " channels", "main.fetch", "main.handle", "leak/main.go:11"},
	"hang":     {"goroutines: syscall", "pthread_mutex_lock", "query", "main.query", "created by main.main"},
}

// TestCause: the first 30 lines of a listing show why a program hangs or leaks, and the
// document has the page of each.
func TestCause(t *testing.T) {
	document, err := os.ReadFile("../../docs/listing.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, wants := range causes {
		t.Run(name, func(t *testing.T) {
			cmd := startReady(t, name)
			lines := strings.Split(stack(t, "--pid", strconv.Itoa(cmd.Process.Pid)), "\n")
			page := strings.Join(lines[:min(len(lines), 30)], "\n")
			for _, want := range wants {
				if !strings.Contains(page, want) {
					t.Errorf("there is no %q in\n%s", want, page)
				}
				if !strings.Contains(string(document), want) {
					t.Errorf("docs/listing.md does not have %q", want)
				}
			}
		})
	}
}

// startReady builds a program of testdata, and starts it; it says when it is ready.
func startReady(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	testneed.Ptrace(t)
	testneed.CC(t)
	program := filepath.Join(t.TempDir(), name)
	if err := output(exec.Command("go", "build", "-o", program, "./testdata/"+name)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(cmd) })
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return cmd
}
