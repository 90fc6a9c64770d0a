package interpose_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/delvetest"
	"github.com/clewdbg/clew/server/delve/interpose"
)

// TestAttachNative: Delve gets the executable alone of a program that links a library of C. Where the process's loader has its list
// is there for other debuggers afterwards.
func TestAttachNative(t *testing.T) {
	testneed.Platform(t, "linux/amd64", "linux/arm64")
	testneed.Ptrace(t)
	testneed.CC(t)
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "waits")
	text := "package main\n\n// #include <stdio.h>\nimport \"C\"\nimport (\"fmt\"; \"os\")\n\nfunc main() { C.puts(C.CString(\"ready\")); C.fflush(C.stdout); fmt.Fscanln(os.Stdin) }\n"
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(program)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _, _ = cmd.Process.Wait() })
	if _, err := out.Read(make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	before, err := interpose.DebugWord(pid)
	if err != nil || len(before) == 0 {
		t.Fatalf("%x, %v", before, err)
	}
	s, err := delve.Attach(pid)
	if err != nil {
		t.Fatal(err)
	}
	bi := delvetest.Selected(t, s).BinInfo()
	for _, image := range bi.Images {
		if strings.Contains(filepath.Base(image.Path), ".so") {
			t.Errorf("Delve has %s", image.Path)
		}
	}
	list, err := interpose.LoadedLibraries(delvetest.Selected(t, s).Memory(), bi)
	if err != nil || !slices.ContainsFunc(list, func(path string) bool { return strings.Contains(path, "libc.so") || strings.Contains(path, "musl") }) {
		t.Errorf("%+v, %v", list, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if after, err := interpose.DebugWord(pid); err != nil || !bytes.Equal(after, before) {
		t.Errorf("%x, %v, before: %x", after, err, before)
	}
	_ = in.Close() // the program ends by itself
	if state, err := cmd.Process.Wait(); err != nil || !state.Success() {
		t.Errorf("%v, %v", state, err)
	}
}
