package cfitest

import (
	_ "embed" // the programs' sources
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var (
	//go:embed testdata/frames.c
	framesC []byte
	//go:embed testdata/prog.go
	progGo []byte
)

// BuildC compiles a C program that has functions with every kind of frame and
// exits with 42. The compiler comes with its options.
func BuildC(t testing.TB, out string, compiler ...string) {
	t.Helper()
	source := write(t, "frames.c", framesC)
	run(t, nil, append(compiler, "-w", "-o", out, source)...)
}

// BuildGo builds a Go program with an uncompressed .debug_frame.
func BuildGo(t testing.TB, out string) {
	t.Helper()
	run(t, append(os.Environ(), "CGO_ENABLED=0"), "go", "build", "-ldflags=-compressdwarf=false", "-o", out, write(t, "prog.go", progGo))
}

func write(t testing.TB, name string, source []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, source, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func run(t testing.TB, env []string, args ...string) {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
}
