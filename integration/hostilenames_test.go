package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// hostileName moves the cursor, sets the terminal's title, fakes a line and turns
// the direction of reading.
const hostileName = "ev\x1b[2J\x1b]0;il\a\nFAKE LINE\u202eeman"

// TestHostileNames: names of symbols and files that hold control characters come
// out escaped wherever clew writes for a person.
func TestHostileNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a\x1b[31mb")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "inner.c"), []byte("void plain_name(void) { __builtin_trap(); }\n"))
	write(t, filepath.Join(dir, "enter.c"), []byte("void plain_name(void);\nvoid enter(void) { plain_name(); __asm__ volatile(\"\"); }\n"))
	write(t, filepath.Join(dir, "go.mod"), []byte("module hostile\n\ngo 1.21\n"))
	write(t, filepath.Join(dir, "main.go"), []byte("package main\n\n// #cgo LDFLAGS: -L. -lhostile -Wl,-rpath,$ORIGIN\n// void enter(void);\nimport \"C\"\n\nfunc main() { C.enter() }\n"))
	in := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command(testneed.Tool(t, name), args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CGO_LDFLAGS_ALLOW=.*", "GOFLAGS=-mod=mod", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	in("gcc", "-c", "-fPIC", "-O1", "-fno-optimize-sibling-calls", "inner.c", "enter.c")
	in("objcopy", "--redefine-sym", "plain_name="+hostileName, "inner.o")
	in("objcopy", "--redefine-sym", "plain_name="+hostileName, "enter.o")
	in("gcc", "-shared", "-o", "libhostile.so", "inner.o", "enter.o")
	in("go", "build", "-o", "hostile", ".")
	exe, library := filepath.Join(dir, "hostile"), filepath.Join(dir, "libhostile.so")
	script := filepath.Join(t.TempDir(), "script")
	write(t, script, []byte("continue\nstack\nframe 0\nlibraries\nexit\n"))

	for _, c := range []struct {
		args  []string
		shown string // that must be there, escaped
	}{
		{[]string{"stack", "--", exe}, `ev\x1b[2J`},
		{[]string{"stack", "--thread", "all", "--names", "full", "--", exe}, `ev\x1b[2J`},
		{[]string{"inspect", library}, `a\x1b[31mb`},
		{[]string{"inspect", "--table", library}, `ev\x1b[2J`},
		{[]string{"inspect", "--lookup", "0x1", library}, `a\x1b[31mb`},
		{[]string{"inspect", library + "\x1b[2J"}, `a\x1b[31mb`},
		{[]string{"decode", library}, `a\x1b[31mb`},
		{[]string{"unwind", library + "\x1b[2J"}, `a\x1b[31mb`},
		{[]string{"stack", "--core", library, exe}, ""},
		{[]string{"stack", "--strategies", hostileName, "--", exe}, `ev\x1b[2J`},
		{[]string{"plugins", "--clew-config", filepath.Join(dir, "missing.json")}, `a\x1b[31mb`},
		{[]string{"exec", "--init", script, exe}, `ev\x1b[2J`},
	} {
		o := clew(t, c.args...)
		for _, text := range []string{o.stdout, o.stderr} {
			if i := strings.IndexAny(text, "\x1b\a\u202e"); i >= 0 || strings.Contains(text, "\nFAKE LINE") {
				t.Errorf("%q writes it raw: %q", c.args, text[max(i-80, 0):])
			}
		}
		if !strings.Contains(o.stdout+o.stderr, c.shown) {
			t.Errorf("%q does not show %q: %v", c.args, c.shown, o)
		}
	}
}
