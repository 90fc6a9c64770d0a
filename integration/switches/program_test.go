//go:build linux

package switches

import (
	"path/filepath"
	"testing"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// flavour is a way to build the program.
type flavour struct {
	name    string
	goEnv   []string
	cflags  string
	ldflags string
}

func (f flavour) build(t testing.TB) string {
	t.Helper()
	path, err := testkit.Once(f.name, f.make)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (f flavour) make() (string, error) {
	dir := testkit.Path(f.name)
	path := filepath.Join(dir, "switching")
	if err := testkit.Module(dir, filepath.Join("testdata", "switching")); err != nil {
		return "", err
	}
	// The program calls runtime.systemstack, which no linkname is allowed for.
	env := append([]string{"CGO_ENABLED=1", "GOWORK=off", "GOFLAGS=", "GO111MODULE=on", "CGO_CFLAGS=" + f.cflags}, f.goEnv...)
	return path, testkit.GoIn(dir, env, "build", "-o", path, "-ldflags=-checklinkname=0 "+f.ldflags, ".")
}

// The C code keeps no frame pointer, so that its tables must bring Go's back.
const tables = "-O2 -g0 -fomit-frame-pointer"

// native is the program as the toolchain of these tests builds it.
func native(t testing.TB) flavour {
	return flavour{name: "own", goEnv: []string{"CC=" + testneed.CC(t)}, cflags: tables}
}
