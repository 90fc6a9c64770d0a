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
	dir := filepath.Join(t.TempDir(), "plain")
	write(t, filepath.Join(dir, "c", "inner.c"), []byte("void plain_name(void) { __asm__ volatile(\"int3\"); }\n"))
	write(t, filepath.Join(dir, "c", "enter.c"), []byte("void plain_name(void);\nvoid enter(void) { plain_name(); __asm__ volatile(\"\"); }\n"))
	write(t, filepath.Join(dir, "go.mod"), []byte("module hostile\n\ngo 1.21\n"))
	write(t, filepath.Join(dir, "main.go"), []byte("package main\n\n// #cgo LDFLAGS: -L. -lhostile -Wl,-rpath,$ORIGIN\n// void enter(void);\nimport \"C\"\n\nfunc main() { C.enter() }\n"))
	in := func(name string, args ...string) {
		t.Helper()
		if name != "go" {
			name = testneed.Tool(t, name)
		}
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CGO_LDFLAGS_ALLOW=.*", "GOFLAGS=-mod=mod", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	in("gcc", "-c", "-fPIC", "-O1", "-fno-optimize-sibling-calls", "c/inner.c", "c/enter.c")
	in("objcopy", "--redefine-sym", "plain_name="+hostileName, "inner.o")
	in("objcopy", "--redefine-sym", "plain_name="+hostileName, "enter.o")
	in("gcc", "-shared", "-o", "libhostile.so", "inner.o", "enter.o")
	in("go", "build", "-o", "hostile", ".")
	hostile := filepath.Join(filepath.Dir(dir), "a\x1b[31mb") // the linker does not take such a name
	if err := os.Rename(dir, hostile); err != nil {
		t.Fatal(err)
	}
	dir = hostile
	exe, library := filepath.Join(dir, "hostile"), filepath.Join(dir, "libhostile.so")
	plain := t.TempDir() // Delve itself writes paths raw
	for _, name := range []string{"hostile", "libhostile.so"} {
		if err := os.Link(filepath.Join(dir, name), filepath.Join(plain, name)); err != nil {
			t.Fatal(err)
		}
	}
	script := filepath.Join(t.TempDir(), "script")
	write(t, script, []byte("continue\nstack\nframe 0\nexit\n"))

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
		{[]string{"exec", "--allow-non-terminal-interactive=true", "--init", script, filepath.Join(plain, "hostile")}, `ev\x1b[2J`},
	} {
		o := clew(t, c.args...)
		for _, text := range []string{o.stdout, o.stderr} {
			for _, raw := range []string{"\x1b[2J", "\x1b]0", "\x1b[31m", "\a", "\u202e", "\nFAKE LINE"} {
				if i := strings.Index(text, raw); i >= 0 {
					t.Errorf("%q writes %q raw: %q", c.args, raw, text[max(i-80, 0):])
				}
			}
		}
		if !strings.Contains(o.stdout+o.stderr, c.shown) {
			t.Errorf("%q does not show %q: %v", c.args, c.shown, o)
		}
	}
}
