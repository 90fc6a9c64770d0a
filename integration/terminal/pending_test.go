package terminal

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestPending: a terminal's breakpoint in a library that is not loaded waits for it, by a function or a line; and lists, sources and disassembly have
// native code.
func TestPending(t *testing.T) {
	need(t)
	testneed.Platform(t, "linux/amd64")
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "dap", "testdata", "opens"))); err != nil {
		t.Fatal(err)
	}
	program, library := filepath.Join(dir, "opens"), filepath.Join(dir, "libopened.so")
	for _, args := range [][]string{{testneed.CC(t), "-shared", "-fPIC", "-g", "-o", library, filepath.Join(dir, "lib", "opened.c")}, {"go", "build", "-o", program, "."}} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOWORK=off", "GOFLAGS=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	s := session{
		tool: "clew", args: []string{"exec"}, target: []string{program, library, "2"},
		script: []string{"break opened", "break opened.c:3", "break main.nothere", "continue", "funcs ^opened$", "sources opened", "disassemble", "clear 1", "break /^opene.$/", "continue", "continue"},
	}
	out := s.play(t)
	for _, want := range []string{
		`Breakpoint 1 set at 0x0 for opened\(\) <pending> `, `Breakpoint 2 set at 0x0 for <pending> opened\.c:3`, `location "main.nothere" not found`,
		`Breakpoint 1 materialized at .*/opened\.c:2 \(opened\)`, `> \[Breakpoint 1\] opened\(\) .*/opened\.c:2`,
		`(?m)^opened$`, `/lib/opened\.c\n`, `opened\.c:2\t0x[0-9a-f]+\*?\t[0-9a-f]+\tmov -0x[0-9a-f]+\(%rbp\),%eax`, `Breakpoint 3 set at 0x[0-9a-f]+ for opened\(\) .*/opened\.c:2`,
		`> \[Breakpoint 2\] opened\(\) .*/opened\.c:3`, `> \[Breakpoint 3\] opened\(\) .*/opened\.c:2`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %q:\n%s", want, out)
		}
	}
}
