package dap

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestTwoRuntimes: a Go program has opened a library that was built with
// -buildmode=c-shared, and is called back by it. The library's goroutine, of which
// the thread's own runtime knows nothing, is part of the stack.
func TestTwoRuntimes(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	testneed.CC(t)
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(filepath.Join("testdata", "tworuntimes"))); err != nil {
		t.Fatal(err)
	}
	host, library := filepath.Join(folder, "host.exe"), filepath.Join(folder, "library.so")
	for _, args := range [][]string{
		{"build", "-o", host, filepath.Join(folder, "host", "main.go")},
		{"build", "-buildmode=c-shared", "-o", library, filepath.Join(folder, "library", "main.go")},
	} {
		cmd := exec.Command("go", args...)
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "CGO_CFLAGS=-g -O0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
	}
	c := start(t, binary("clew")).dial()
	thread := threadOf(t, c.launch(object{"mode": "exec", "program": host, "args": []string{library}, "outputMode": "remote"}))
	want := []string{
		"main.stop", "crosscall2", "atTheEnd", "back", // the host's
		"call", "asmcgocall", "cgocall", "main.pass", "main.Enter", "crosscall2", "Enter", // the library's
		"enter", "asmcgocall", "cgocall", "main.main", "goexit", // the host's
	}
	s := c.stack(thread, 0, 100)
	var got []string
	for _, f := range s.StackFrames {
		name := strings.TrimPrefix(f.Name, "runtime.")
		if f.Hint == "label" {
			t.Errorf("the stack has the label %s", f.Name)
		}
		if slices.Contains(want, name) {
			got = append(got, name)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("frames %v\nwant %v; all: %+v", got, want, s.StackFrames)
	}
	c.ok("continue", object{"threadId": thread})
	c.event("terminated")
	c.disconnect()
}
