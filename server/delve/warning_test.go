package delve

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/delve/internals"
)

// TestNoWarning: where a program without DWARF is opened, Delve's warning that it has no stacks
// is left out, and no other line.
func TestNoWarning(t *testing.T) {
	testneed.Platform(t, "linux/amd64", "linux/arm64")
	testneed.Ptrace(t)
	path := filepath.Join(t.TempDir(), "stripped")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, "./testdata/stops").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr := os.Stderr
	os.Stderr = w
	s, err := Launch(LaunchConfig{Args: []string{path}, NoStdin: true})
	_, _ = io.WriteString(os.Stderr, "another line\n")
	os.Stderr = stderr
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil { // the program has the pipe too
		t.Error(err)
	}
	said, _ := io.ReadAll(r)
	if strings.TrimSpace(string(said)) != "another line" {
		t.Error(internals.Changed(internals.EntryNoDebugInfo, "%s", said))
	}
}
