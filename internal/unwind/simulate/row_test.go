package simulate

import (
	"errors"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// function is push rbx; sub rsp, 0x10; nop; add rsp, 0x10; pop rbx; ret.
var function = []byte{0x53, 0x48, 0x83, 0xec, 0x10, 0x90, 0x48, 0x83, 0xc4, 0x10, 0x5b, 0xc3}

const start, stack = 0x40_0000, 0x7ffd_0000

// memory holds the words from stack on.
func memory(words ...uint64) unwind.Windows {
	var data []byte
	for _, w := range words {
		for i := range 8 {
			data = append(data, byte(w>>(8*i)))
		}
	}
	return unwind.Windows{{Addr: stack, Data: data}}
}

func TestEveryInstruction(t *testing.T) {
	const rbx, ra = 7, 0x41_0000
	for _, c := range []struct {
		offset uint64
		memory unwind.Windows
		rule   string
		body   bool
	}{
		{0, memory(ra), "cfa=rsp+8; ra=[cfa-8]; fp=unchanged", false},
		{1, memory(rbx, ra), "cfa=rsp+16; ra=[cfa-8]; fp=unchanged", false},
		{5, memory(0, 0, rbx, ra), "cfa=rsp+32; ra=[cfa-8]; fp=unchanged", true},
		{10, memory(rbx, ra), "cfa=rsp+16; ra=[cfa-8]; fp=unchanged", false},
		{11, memory(ra), "cfa=rsp+8; ra=[cfa-8]; fp=unchanged", false},
	} {
		row, why := At(unwind.AMD64, Stopped, function, start, start+c.offset)
		if row == nil || !row.Sure || row.Body != c.body || row.String() != c.rule {
			t.Errorf("at %d: %v, %s; want %s", c.offset, row, why, c.rule)
			continue
		}
		var regs unwind.Registers
		regs.Set(unwind.AMD64RSP, stack)
		regs.Set(unwind.AMD64RBX, rbx)
		regs.Set(unwind.AMD64RBP, 9)
		regs.Set(0, 1) // rax is not kept
		f := rule.Frame{Registers: &regs, Kind: unwind.KindInstruction, Memory: c.memory}
		var caller rule.Caller
		if err := row.Apply(&f, &caller); err != nil {
			t.Errorf("at %d: %v", c.offset, err)
			continue
		}
		pc, _ := caller.Registers.PC(unwind.AMD64)
		sp, _ := caller.Registers.SP(unwind.AMD64)
		saved, _ := caller.Registers.Get(unwind.AMD64RBX)
		if _, rax := caller.Registers.Get(0); pc != ra || sp != caller.CFA || sp != stack+uint64(8*(len(c.memory[0].Data)/8)) || saved != rbx || rax {
			t.Errorf("at %d: %+v", c.offset, caller)
		}

		f.Memory = nil
		var missing *rule.MissingMemory
		if err := row.Apply(&f, &caller); !errors.As(err, &missing) {
			t.Errorf("at %d, without memory: %v", c.offset, err)
		}
		f.Registers = new(unwind.Registers)
		var register *rule.MissingRegister
		if err := row.Apply(&f, &caller); !errors.As(err, &register) {
			t.Errorf("at %d, without registers: %v", c.offset, err)
		}
	}
	if row, why := At(unwind.S390X, Stopped, function, start, start); row != nil || why == "" {
		t.Errorf("s390x: %v, %q", row, why)
	}
}
