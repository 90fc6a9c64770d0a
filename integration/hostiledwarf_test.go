package integration

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// What names of a library become in its debugging information, of the same length.
const (
	plainPart   = "QQQQQQQQQQQQQQQQQQ"
	hostilePart = "\x1b[2J\nFAKE\u009b\u202e\aqqq"
)

const hostileSource = `typedef struct ty_Q { int field_Q; const char *p; } ty_Q;
static ty_Q glob_Q = {4, "s\033[2J"};
static int fun_Q(int arg_Q) { ty_Q loc_Q = glob_Q; volatile ty_Q *pp = &loc_Q; __asm__ volatile("int3" :: "r"(pp)); return pp->field_Q + arg_Q; }
int enter(int n) { return fun_Q(n) + 1; }
`

// TestHostileDWARF: a terminal escapes the names of files, folders, functions, variables, types and fields, its own session's and that of
// a server that does not.
func TestHostileDWARF(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	dir := t.TempDir()
	source := filepath.Join("folder_"+plainPart, "file_"+plainPart+".c")
	write(t, filepath.Join(dir, source), []byte(strings.ReplaceAll(hostileSource, "_Q", "_"+plainPart)))
	write(t, filepath.Join(dir, "go.mod"), []byte("module hostile\n\ngo 1.21\n"))
	write(t, filepath.Join(dir, "main.go"), []byte("package main\n\n// #cgo LDFLAGS: -L. -lhostile -Wl,-rpath,$ORIGIN\n// int enter(int n);\nimport \"C\"\n\nfunc main() { C.enter(3) }\n"))
	for _, args := range [][]string{{testneed.CC(t), "-g", "-O0", "-shared", "-fPIC", "-o", "libhostile.so", source}, {"go", "build", "-o", "hostile", "."}} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CGO_LDFLAGS_ALLOW=.*", "GOFLAGS=-mod=mod", "GOWORK=off")
		if o := run(t, cmd); o.code != 0 {
			t.Fatal(o)
		}
	}
	library := filepath.Join(dir, "libhostile.so")
	image, err := os.ReadFile(library)
	if err != nil {
		t.Fatal(err)
	}
	write(t, library, bytes.ReplaceAll(image, []byte(plainPart), []byte(hostilePart)))
	script := filepath.Join(dir, "script")
	write(t, script, []byte("continue\nstack -full\nargs\nlocals\nframe 1\nlocals\ntypes ty_\nfuncs fun_\nsources file_\nvars glob_\nlist\nbreak enter\nbreakpoints\nregs\nexit\n"))

	check := func(how string, o outcome) {
		for _, raw := range []string{"\x1b[2J", "\a", "\u009b", "\u202e", "\nFAKE"} {
			if i := strings.Index(o.stdout+o.stderr, raw); i >= 0 {
				t.Errorf("%s: %q is raw: %q", how, raw, (o.stdout + o.stderr)[max(i-80, 0):])
			}
		}
		if n := strings.Count(o.stdout, `\x1b[2J\nFAKE`); n < 20 {
			t.Errorf("%s: %d names are shown: %v", how, n, o)
		}
	}
	exe := filepath.Join(dir, "hostile")
	check("exec", clew(t, "exec", "--allow-non-terminal-interactive=true", "--init", script, exe))

	socket := filepath.Join(dir, "socket")
	server := exec.Command(clewPath(), "exec", "--headless", "--listen=unix:"+socket, exe)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Wait() }()
	defer func() { _ = server.Process.Kill() }()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(socket); err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	check("connect", clew(t, "connect", "unix:"+socket, "--allow-non-terminal-interactive=true", "--init", script))
}
