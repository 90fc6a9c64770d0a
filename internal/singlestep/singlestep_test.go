package singlestep_test

import (
	"encoding/binary"
	"testing"

	"github.com/clewdbg/clew/internal/singlestep"
)

// dwarf numbers the registers that the programs of the tests use.
type dwarf struct{ value, argument, sp, pc int }

// check steps through a program that loads 0x1234 into a register, pushes 0x77, reads
// it back, and exits with status 7 behind its label "leave".
func check(t *testing.T, p singlestep.Program, symbols map[string]uint64, reg dwarf) {
	t.Helper()
	at := func() singlestep.Registers {
		regs, err := p.Registers()
		if err != nil {
			t.Fatal(err)
		}
		return regs
	}
	before := at()
	if before[reg.pc] != symbols["_start"] {
		t.Fatalf("it stands at %#x, not at _start (%#x)", before[reg.pc], symbols["_start"])
	}
	for range 3 {
		if result, err := p.Step(); err != nil || result != (singlestep.Result{}) {
			t.Fatalf("%+v, %v", result, err)
		}
	}
	after := at()
	if after[reg.value] != 0x1234 || after[reg.argument] != 0x77 || after[reg.sp] >= before[reg.sp] {
		t.Errorf("registers %#x, %#x; SP %#x, was %#x", after[reg.value], after[reg.argument], after[reg.sp], before[reg.sp])
	}
	var word [8]byte
	if n := p.Read(after[reg.sp], word[:]); n != 8 || binary.LittleEndian.Uint64(word[:]) != 0x77 {
		t.Errorf("%d bytes of the stack: % x", n, word)
	}
	if n := p.Read(8, word[:]); n != 0 {
		t.Errorf("%d bytes at address 8", n)
	}
	if err := p.RunTo(symbols["leave"]); err != nil {
		t.Fatal(err)
	}
	if pc := at()[reg.pc]; pc != symbols["leave"] {
		t.Fatalf("it stands at %#x, not at leave (%#x)", pc, symbols["leave"])
	}
	for range 3 {
		result, err := p.Step()
		if err != nil {
			t.Fatal(err)
		}
		if result.Ended {
			if result.Status != 7 {
				t.Errorf("it ended with status %d", result.Status)
			}
			return
		}
	}
	t.Error("the program does not end")
}
