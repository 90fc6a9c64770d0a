package integration

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestBoundedValues: a library whose variables claim 2^36 bytes in every way, have 16 million members, 40 dimensions, an expression without an end, or share a
// list of a million locations. Each is shown, or unknown for a reason, and costs no more than it may; the variables beside them are right.
func TestBoundedValues(t *testing.T) {
	program := assembled(t, "values", hostileVariables(4000, 3000))
	want := []string{
		`right.{1,40}7`, `whole.*first\W+7`, `union.*first\W+7`, `base.*a number of 68719476736 bytes`, `pointer.*a pointer of 68719476736 bytes`, `piece.*byte 68719476735 is asked for`,
		`pieces.*more than 1024 pieces`, `implicit.*it breaks off`, `array.*more than 16 dimensions`, `loop.*more than 256 values`, `listed1999.*too many entries together`,
	}
	check := func(how string, o outcome, cost cost) {
		t.Helper()
		o.want(t, done)
		for _, w := range want {
			if !regexp.MustCompile(w).MatchString(o.stdout) {
				t.Errorf("%s: no %q in %.2000s", how, w, o.stdout)
			}
		}
		if len(o.stdout) > 4<<20 || strings.Contains(o.stderr, "goroutine ") {
			t.Errorf("%s: %d bytes, %.500s", how, len(o.stdout), o.stderr)
		}
		cost.check(t)
	}
	o, cost := measured(func() outcome { return clew(t, "stack", "--values", "all", "--format", "json", "--", program) })
	check("stack", o, cost)
	cmd := exec.Command(clewPath(), "exec", "--allow-non-terminal-interactive", program)
	cmd.Stdin = strings.NewReader("continue\nlocals\nlocals\nprint many\nprint array\nprint whole.last\nwhatis many\nnext\nexit\n")
	o, cost = measured(func() outcome { return run(t, cmd) })
	check("terminal", o, cost)
	if !strings.Contains(o.stdout, "main.main() ") {
		t.Errorf("the step did not end in Go: %.500s", o.stdout)
	}
}

// TestManyOfOneName: of a million functions with one name a breakpoint is refused, and says why, also where it waited for the library; lines are found.
func TestManyOfOneName(t *testing.T) {
	program := assembled(t, "names", manyOfOneName(1_000_000))
	const why = "same: it stands for too many places"
	o, cost := measured(func() outcome { return clew(t, "stack", "--break", "same", "--", program) })
	if o.want(t, failed); !strings.Contains(o.stderr, why) {
		t.Error(o)
	}
	cost.check(t)
	cmd := exec.Command(clewPath(), "exec", "--allow-non-terminal-interactive", program)
	cmd.Stdin = strings.NewReader("break same\nbreak deep.c:3\ncontinue\nbreak same\nexit\n")
	o, cost = measured(func() outcome { return run(t, cmd) })
	for _, w := range []string{"Breakpoint 1 set at 0x0 for same() <pending>", "deep() deep.c:2", "Breakpoint 2 materialized at deep.c:3 (same)"} {
		if !strings.Contains(o.stdout, w) {
			t.Errorf("no %q: %v", w, o)
		}
	}
	if !strings.Contains(o.stderr, why) {
		t.Error(o)
	}
	cost.check(t)
}

// assembled builds a program of Go's that calls deep, a function of a library in assembly, whose breakpoint instruction stops it.
func assembled(t *testing.T, name, source string) (program string) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	cc, folder := testneed.CC(t), t.TempDir()
	program = filepath.Join(folder, name)
	write(t, filepath.Join(folder, "deep.s"), []byte(source))
	write(t, filepath.Join(folder, "main", "main.go"), []byte("package main\n\n// #cgo LDFLAGS: -L"+folder+" -ldeep -Wl,-rpath,"+folder+"\n// void deep(void);\nimport \"C\"\n\nfunc main() { C.deep() }\n"))
	for _, cmd := range []*exec.Cmd{
		exec.Command(cc, "-shared", "-o", filepath.Join(folder, "libdeep.so"), filepath.Join(folder, "deep.s")),
		exec.Command("go", "build", "-o", program, filepath.Join(folder, "main", "main.go")),
	} {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return program
}

// hostileVariables is a library in the GNU assembler's language: `members` in each of as many structures, `listed` variables with one list of locations.
func hostileVariables(members, listed int) string {
	const huge = 1 << 36
	var s strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&s, format+"\n", args...) }
	p(`.globl deep
.type deep,@function
deep: .cfi_startproc
push %%rbp
.cfi_def_cfa_offset 16
.cfi_offset %%rbp,-16
mov %%rsp,%%rbp
.cfi_def_cfa_register %%rbp
int3
nop
pop %%rbp
.cfi_def_cfa %%rsp,8
ret
.cfi_endproc
.Le: .size deep,.Le-deep
.data
thing: .long 7
.zero 4096
.section .note.GNU-stack,"",@progbits`)
	p(`.section .debug_abbrev,"",@progbits
.Labbrev: .byte 1,0x11,1,3,8,0x13,0xb,0x11,1,0x12,7,0,0
.byte 2,0x2e,1,3,8,0x11,1,0x12,7,0x40,0x18,0,0
.byte 3,0x34,0,3,8,0x49,0x13,2,0x18,0,0
.byte 4,0x34,0,3,8,0x49,0x13,2,0x17,0,0
.byte 5,0x13,1,3,8,0x0b,7,0,0
.byte 6,0x0d,0,3,8,0x49,0x13,0x38,7,0,0
.byte 7,0x17,1,3,8,0x0b,7,0,0
.byte 8,0x24,0,3,8,0x0b,7,0x3e,0xb,0,0
.byte 9,0x0f,0,0x49,0x13,0x0b,7,0,0
.byte 10,1,1,0x49,0x13,0,0
.byte 11,0x21,0,0x2f,7,0,0
.byte 0
.section .debug_info,"",@progbits
.Lunit: .long .Lend-.Lfrom
.Lfrom: .short 5
.byte 1,8
.long .Labbrev
.byte 1
.asciz "deep.c"
.byte 12
.quad deep,.Le-deep
.byte 2
.asciz "deep"
.quad deep,.Le-deep
.byte 1,0x9c`)
	labels := 0
	variable := func(name, of, place string) {
		labels += 2
		p(".byte 3\n.asciz %q\n.long .L%s-.Lunit\n.uleb128 .Lp%d-.Lp%d\n.Lp%d: %s\n.Lp%d:", name, of, labels+1, labels, labels, place, labels+1)
	}
	for name, of := range map[string]string{"right": "int", "whole": "struct", "union": "union", "base": "base", "pointer": "pointer", "many": "many", "array": "array", "wide": "wide"} {
		variable(name, of, ".byte 3\n.quad thing")
	}
	variable("piece", "struct", fmt.Sprintf(".byte 0x50,0x93\n.uleb128 %d", huge))            // DW_OP_reg0, DW_OP_piece
	variable("pieces", "struct", ".rept 20000\n.byte 0x50,0x93,1\n.endr")                     // the same, of one byte each
	variable("implicit", "struct", fmt.Sprintf(".byte 0x9e\n.uleb128 %d\n.byte 1,2,3", huge)) // DW_OP_implicit_value
	variable("loop", "int", ".byte 0x30,0x2f\n.short -4")                                     // DW_OP_lit0, DW_OP_skip back
	for i := range listed {
		p(".byte 4\n.asciz \"listed%d\"\n.long .Lint-.Lunit,.Llist", i)
	}
	member := func(name, of string, at int) { p(".byte 6\n.asciz %q\n.long .L%s-.Lunit\n.quad %d", name, of, at) }
	p(".byte 0\n.Lint: .byte 8\n.asciz \"int\"\n.quad 4\n.byte 5")
	p(".Lstruct: .byte 5\n.asciz \"struct\"\n.quad %d", huge)
	member("first", "int", 0)
	member("last", "int", huge-4)
	p(".byte 0\n.Lunion: .byte 7\n.asciz \"union\"\n.quad %d", huge)
	member("first", "int", 0)
	p(".byte 0\n.Lbase: .byte 8\n.asciz \"base\"\n.quad %d\n.byte 7\n.Lpointer: .byte 9\n.long .Lint-.Lunit\n.quad %d", huge, huge)
	p(".Lwide: .byte 10\n.long .Lstruct-.Lunit\n.byte 11\n.quad 1<<40\n.byte 0")
	p(".Larray: .byte 10\n.long .Lint-.Lunit\n.rept 40\n.byte 11\n.quad 2\n.endr\n.byte 0")
	for at, of := range []string{"inner", "many"} {
		p(".L%s: .byte 5\n.asciz %q\n.quad %d", of, of, []int{4 * members, 4 * members * members}[at])
		for i := range members {
			member(fmt.Sprintf("m%d", i), []string{"int", "inner"}[at], []int{4, 4 * members}[at]*i)
		}
		p(".byte 0")
	}
	p(`.byte 0
.Lend:
.section .debug_loclists,"",@progbits
.long .Lto-.Lhead
.Lhead: .short 5
.byte 8,0
.long 0
.Llist: .byte 6
.quad deep
.rept 1000000
.byte 4,0,0,1,0x50
.endr
.byte 0
.Lto:`)
	return s.String()
}

// manyOfOneName is a library with so many functions of one byte, which have one name, each at a line of its own.
func manyOfOneName(number int) string {
	return fmt.Sprintf(`.globl deep
.type deep,@function
deep: int3
nop
.rept %[1]d
ret
.endr
.Le: .size deep,2
.section .note.GNU-stack,"",@progbits
.section .debug_abbrev,"",@progbits
.Labbrev: .byte 1,0x11,1,3,8,0x13,0xb,0x11,1,0x12,7,0x10,0x17,0,0
.byte 2,0x2e,0,3,0xe,0x11,1,0x12,0xb,0,0
.byte 0
.section .debug_str,"MS",@progbits,1
.Lname: .asciz "same"
.section .debug_info,"",@progbits
.long .Lend-.Lfrom
.Lfrom: .short 4
.long .Labbrev
.byte 8,1
.asciz "deep.c"
.byte 12
.quad deep,.Le-deep
.long .Lline
.set i,2
.rept %[1]d
.byte 2
.long .Lname
.quad deep+i
.byte 1
.set i,i+1
.endr
.byte 0
.Lend:
.section .debug_line,"",@progbits
.Lline: .long .Lto-.Lversion
.Lversion: .short 4
.long .Lprogram-.Lheader
.Lheader: .byte 1,1,1,0xfb,14,13,0,1,1,1,1,0,0,0,1,0,0,1,0
.asciz "deep.c"
.byte 0,0,0,0
.Lprogram: .byte 0,9,2
.quad deep
.byte 1
.rept %[1]d
.byte 33
.endr
.byte 2,1,0,1,1
.Lto:
`, number)
}
