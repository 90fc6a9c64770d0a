package singlestep_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/clewdbg/clew/internal/singlestep"
	"github.com/clewdbg/clew/internal/testneed"
)

// amd64Program exits with status 7, or, started with an argument, executes an
// illegal instruction.
const amd64Program = `.globl _start
_start:
	mov $0x1234, %rbx
	pushq $0x77
	mov (%rsp), %rdi
	cmpq $1, 8(%rsp)
	jne signal
	.globl leave
leave:
	mov $7, %edi
	mov $60, %eax
	syscall
signal:
	ud2
`

// assemble links a program without libraries, and returns its path and symbols.
func assemble(t *testing.T, cc, text string) (path string, symbols map[string]uint64) {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "program.s")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "program")
	if out, err := exec.Command(cc, "-nostdlib", "-static", "-no-pie", "-o", path, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	symbols = make(map[string]uint64)
	for _, s := range list {
		symbols[s.Name] = s.Value
	}
	return path, symbols
}

func TestProcess(t *testing.T) {
	testneed.Ptrace(t)
	path, symbols := assemble(t, testneed.CC(t), amd64Program)
	check(t, singlestep.Start(t, path), symbols, dwarf{value: 3, argument: 5, sp: 7, pc: 16})
}

// TestProcessSignal: a signal comes before the step's instruction is executed, and
// is delivered by the next one.
func TestProcessSignal(t *testing.T) {
	testneed.Ptrace(t)
	path, symbols := assemble(t, testneed.CC(t), amd64Program)
	p := singlestep.Start(t, path, "argument")
	if err := p.RunTo(symbols["signal"]); err != nil {
		t.Fatal(err)
	}
	result, err := p.Step()
	if err != nil || !result.Signal {
		t.Fatalf("%+v, %v; want a signal", result, err)
	}
	if regs, err := p.Registers(); err != nil || regs[16] != symbols["signal"] {
		t.Errorf("pc %#x, %v; want %#x", regs[16], err, symbols["signal"])
	}
	if result, err := p.Step(); err == nil {
		t.Errorf("the program outlived its signal: %+v", result)
	}
}
