package testneed

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// ending is how a test ended: the last call of a fake testing.TB.
type ending struct {
	failed, skipped bool
	message         string
}

// fake stands for the test that asks.
type fake struct {
	testing.TB
	dir string
	end ending
}

func (f *fake) Helper()         {}
func (f *fake) TempDir() string { return f.dir }

func (f *fake) Skip(args ...any) {
	f.end = ending{skipped: true, message: fmt.Sprint(args...)}
	runtime.Goexit()
}

func (f *fake) Fatalf(format string, args ...any) {
	f.end = ending{failed: true, message: fmt.Sprintf(format, args...)}
	runtime.Goexit()
}

// ask runs a test's request and returns how that test ended.
func ask(t *testing.T, body func(testing.TB)) ending {
	f := &fake{dir: t.TempDir()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		body(f)
	}()
	<-done
	return f.end
}

func TestMissingToolIsSaidAndFailsInCI(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CC", "")
	asks := map[string]func(testing.TB){
		"C compiler": func(t testing.TB) { CC(t) },
		"readelf":    func(t testing.TB) { Tool(t, "readelf") },
		"toolchain":  func(t testing.TB) { Toolchain(t, "go1.24.0") },
		"solaris":    func(t testing.TB) { Platform(t, "solaris/sparc") },
	}
	for word, body := range asks {
		t.Setenv("CI", "")
		if got := ask(t, body); !got.skipped || !strings.HasPrefix(got.message, LeftOut) || !strings.Contains(got.message, word) {
			t.Errorf("%s, not in CI: %+v", word, got)
		}
		t.Setenv("CI", "true")
		if got := ask(t, body); !got.failed || !strings.Contains(got.message, word) {
			t.Errorf("%s, in CI: %+v", word, got)
		}
	}
}

func TestCompilerFromEnvironment(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	write := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cc, other := write("cc"), write("tcc")
	t.Setenv("CC", "")
	if got := CC(t); got != cc {
		t.Errorf("without $CC: %s, want %s", got, cc)
	}
	t.Setenv("CC", "tcc")
	if got := CC(t); got != other {
		t.Errorf("CC=tcc: %s, want %s", got, other)
	}
	t.Setenv("CI", "")
	t.Setenv("CC", "nowhere")
	if got := ask(t, func(t testing.TB) { CC(t) }); !got.skipped {
		t.Errorf("CC=nowhere falls back to another compiler: %+v", got)
	}
}

func TestUnlistedToolFailsEverywhere(t *testing.T) {
	t.Setenv("CI", "")
	if got := ask(t, func(t testing.TB) { Tool(t, "sh") }); !got.failed {
		t.Errorf("a tool that Needs does not list: %+v", got)
	}
}

func TestEveryNeedCanBeInstalled(t *testing.T) {
	for _, n := range Needs {
		if n.Name == "" || len(n.Programs) == 0 || len(n.Debian) == 0 {
			t.Errorf("incomplete: %+v", n)
		}
	}
}

func TestOwnToolchainIsFound(t *testing.T) {
	if got, want := Toolchain(t, runtime.Version()), "GOTOOLCHAIN="+runtime.Version(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestBrokenTool: a program that is there and fails is missing, and the message names it and what it said.
func TestBrokenTool(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"#!/bin/sh\necho no toolchain is chosen >&2\nexit 1\n", "does not work: exit status 1: no toolchain is chosen"},
		{"#!/bin/sh\n[ \"$1\" = --version ]\n", ""},
	} {
		path := filepath.Join(t.TempDir(), "rustc")
		if err := os.WriteFile(path, []byte(c.script), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("RUSTC", path)
		found, err := Lookup("rustc")
		if c.want == "" && (err != nil || found != path) {
			t.Errorf("%q: %q, %v", c.script, found, err)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), path+" is there and "+c.want)) {
			t.Errorf("%q: %v, want %q", c.script, err, c.want)
		}
	}
}
