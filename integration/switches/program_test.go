//go:build linux

package switches

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// workFolder holds the programs that are built.
var workFolder string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if workFolder, err = os.MkdirTemp("", "clew-switches-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(workFolder)
		return m.Run()
	}())
}

// flavour is a way to build the program.
type flavour struct {
	name    string
	goEnv   []string
	cflags  string
	ldflags string
}

type buildOnce struct {
	once sync.Once
	path string
	err  error
}

var builds sync.Map // flavour name to *buildOnce

func (f flavour) build(t testing.TB) string {
	t.Helper()
	entry, _ := builds.LoadOrStore(f.name, &buildOnce{})
	b := entry.(*buildOnce)
	b.once.Do(func() { b.path, b.err = f.make() })
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.path
}

func (f flavour) make() (string, error) {
	dir := filepath.Join(workFolder, f.name)
	path := filepath.Join(dir, "switching")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "switching"))); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module switching\n\ngo 1.24\n"), 0o644); err != nil {
		return "", err
	}
	// The program calls runtime.systemstack, which no linkname is allowed for.
	cmd := exec.Command("go", "build", "-o", path, "-ldflags=-checklinkname=0 "+f.ldflags, ".")
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=1", "GOWORK=off", "GOFLAGS=", "GO111MODULE=on", "CGO_CFLAGS="+f.cflags), f.goEnv...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
	}
	return path, nil
}

// The C code keeps no frame pointer, so that its tables must bring Go's back.
const tables = "-O2 -g0 -fomit-frame-pointer"

// native is the program as the toolchain of these tests builds it.
func native(t testing.TB) flavour {
	return flavour{name: "own", goEnv: []string{"CC=" + testneed.CC(t)}, cflags: tables}
}
