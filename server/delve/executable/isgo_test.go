package executable

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestUnnamedTable: a table of Go functions in a section with other data is found, as in
// stripped position-independent cgo programs of Go before 1.26. A C program has none.
func TestUnnamedTable(t *testing.T) {
	testneed.Platform(t, "linux/amd64", "linux/arm64")
	dir := t.TempDir()
	source, program, unnamed := filepath.Join(dir, "main.go"), filepath.Join(dir, "named"), filepath.Join(dir, "unnamed")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	for _, c := range []*exec.Cmd{build, exec.Command(testneed.Tool(t, "objcopy"), "--rename-section", ".gopclntab=.data.rel.ro", program, unnamed)} {
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for path, want := range map[string]bool{program: true, unnamed: true, "/bin/sh": false} {
		if got, err := HasGoTable(path); got != want || err != nil {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
}
