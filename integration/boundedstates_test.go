package integration

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestManyStates: a library whose function has rules for 8,000 registers, and remembers 15,000 states of all of them. Delve, which keeps a copy for each, does not
// get the library. The strategy with tables refuses the function and says so; frame pointers lead on.
func TestManyStates(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	cc, folder := testneed.CC(t), t.TempDir()
	var text strings.Builder
	text.WriteString(".globl deep\n.type deep,@function\ndeep:\n.cfi_startproc\npush %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp,-16\nmov %rsp,%rbp\n.cfi_def_cfa_register %rbp\n")
	for register := 20; register < 8020; register++ {
		fmt.Fprintf(&text, ".cfi_offset %d,-%d\n", register, 8*register)
	}
	text.WriteString(strings.Repeat(".cfi_remember_state\n", 15_000) + "int3\nnop\n" + strings.Repeat(".cfi_restore_state\n", 15_000) + "pop %rbp\nret\n.cfi_endproc\n.section .note.GNU-stack,\"\",@progbits\n")
	write(t, filepath.Join(folder, "deep.s"), []byte(text.String()))
	write(t, filepath.Join(folder, "program", "main.go"), []byte("package main\n\n// #cgo LDFLAGS: -L"+folder+" -ldeep -Wl,-rpath,"+folder+"\n// void deep(void);\nimport \"C\"\n\nfunc main() { C.deep() }\n"))
	program := filepath.Join(folder, "deep")
	for _, cmd := range []*exec.Cmd{
		exec.Command(cc, "-shared", "-o", filepath.Join(folder, "libdeep.so"), filepath.Join(folder, "deep.s")),
		exec.Command("go", "build", "-o", program, filepath.Join(folder, "program", "main.go")),
	} {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	o, cost := measured(func() outcome { return clew(t, "stack", "--", program) })
	o.want(t, done)
	for _, want := range []string{"deep", "main.main", "too many", "end: runtime.goexit"} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("no %q: %v", want, o)
		}
	}
	cost.check(t)
	cmd := exec.Command(clewPath(), "exec", "--allow-non-terminal-interactive", program)
	cmd.Stdin = strings.NewReader("continue\nstack\nargs\nlocals\nnext\nexit\n")
	o, cost = measured(func() outcome { return run(t, cmd) })
	if o.want(t, done); !strings.Contains(o.stdout, "main.main() ") {
		t.Errorf("the step did not end in Go: %v", o)
	}
	cost.check(t)
}
