package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// linkage says where the native code is.
type linkage int

const (
	static linkage = iota // in the program
	linked                // in a library that the program is linked with
	opened                // in a library that the program opens when it runs
)

// variant is a way to build testdata/native.
type variant struct {
	name     string
	cflags   string
	linkage  linkage
	stripped bool // the library
	// undescribed: no frame pointers and no tables. Stacks may end early, but
	// must not be wrong.
	undescribed bool
}

// The variants: with frame pointers, with call-frame information instead, and
// with neither.
var variants = []variant{
	{name: "static-O0-g-fp", cflags: "-O0 -g"},
	{name: "static-O1-g-fp", cflags: "-O1 -g -fno-omit-frame-pointer"},
	{name: "static-O2-fp", cflags: "-O2 -g0 -fno-omit-frame-pointer -fno-asynchronous-unwind-tables"},
	{name: "linked-O1-g-fp", cflags: "-O1 -g -fno-omit-frame-pointer", linkage: linked},
	{name: "linked-O2-fp-stripped", cflags: "-O2 -g0 -fno-omit-frame-pointer -fno-asynchronous-unwind-tables", linkage: linked, stripped: true},
	{name: "opened-O1-g-fp", cflags: "-O1 -g -fno-omit-frame-pointer", linkage: opened},
	{name: "opened-O2-fp-stripped", cflags: "-O2 -g0 -fno-omit-frame-pointer", linkage: opened, stripped: true},

	{name: "static-O2-omit", cflags: "-O2 -g0 -fomit-frame-pointer"},
	{name: "static-O2-omit-notables", cflags: "-O2 -g0 -fomit-frame-pointer -fno-asynchronous-unwind-tables", undescribed: true},
	{name: "linked-O2-omit", cflags: "-O2 -g0 -fomit-frame-pointer", linkage: linked},
	{name: "linked-O2-omit-stripped", cflags: "-O2 -g0 -fomit-frame-pointer", linkage: linked, stripped: true},
	{name: "linked-O2-omit-notables-stripped", cflags: "-O2 -g0 -fomit-frame-pointer -fno-asynchronous-unwind-tables", linkage: linked, stripped: true, undescribed: true},
}

func variantNamed(t testing.TB, name string) variant {
	t.Helper()
	for _, v := range variants {
		if v.name == name {
			return v
		}
	}
	t.Fatalf("no variant %q", name)
	return variant{}
}

// program is a built variant.
type program struct {
	path    string
	library string // where the native code is, "" for static
}

type buildOnce struct {
	once sync.Once
	p    program
	err  error
}

var builds sync.Map // variant name to *buildOnce

// build builds a variant, once for all tests.
func build(t testing.TB, v variant) program {
	t.Helper()
	testneed.Platform(t, "linux/amd64") // the record's interrupted PC, int3, syscalls
	cc := testneed.CC(t)
	strip := ""
	if v.stripped {
		strip = testneed.Tool(t, "strip")
	}
	entry, _ := builds.LoadOrStore(v.name, &buildOnce{})
	b := entry.(*buildOnce)
	b.once.Do(func() { b.p, b.err = v.build(cc, strip) })
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.p
}

func (v variant) build(cc, strip string) (program, error) {
	dir := filepath.Join(workFolder, v.name)
	source := filepath.Join(dir, "src")
	if err := os.MkdirAll(source, 0o755); err != nil {
		return program{}, err
	}
	p := program{path: filepath.Join(dir, "native")}
	files := []string{"main.go", "native.h"}
	ldflags := ""
	switch v.linkage {
	case static:
		files = append(files, "native.c")
	case opened:
		files = append(files, "shim.c")
		ldflags = "-ldl"
	case linked:
		ldflags = "-L" + dir + " -lnative -Wl,-rpath," + dir
	}
	for _, name := range files {
		data, err := os.ReadFile(filepath.Join("testdata", "native", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(source, name), data, 0o644)
		}
		if err != nil {
			return p, err
		}
	}
	if err := os.WriteFile(filepath.Join(source, "go.mod"), []byte("module native\n\ngo 1.24\n"), 0o644); err != nil {
		return p, err
	}
	if v.linkage != static {
		p.library = filepath.Join(dir, "libnative.so")
		args := append(strings.Fields(v.cflags), "-shared", "-fPIC", "-pthread", "-o", p.library, filepath.Join("testdata", "native", "native.c"))
		if err := command(exec.Command(cc, args...)); err != nil {
			return p, err
		}
		if strip != "" {
			if err := command(exec.Command(strip, "-s", p.library)); err != nil {
				return p, err
			}
		}
	}
	build := exec.Command("go", "build", "-o", p.path, ".")
	build.Dir = source
	build.Env = append(os.Environ(), "CC="+cc, "CGO_ENABLED=1", "GOWORK=off", "GOFLAGS=", "GO111MODULE=on",
		"CGO_CFLAGS="+v.cflags, "CGO_LDFLAGS="+ldflags+" -pthread")
	return p, command(build)
}

func command(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}

// env is what the program needs to run.
func (p program) env() []string { return append(os.Environ(), "NATIVE_LIBRARY="+p.library) }
