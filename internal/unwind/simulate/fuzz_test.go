package simulate

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// FuzzRow: whatever a function's code is, the rule at any of its bytes can be
// applied or says why not, and the caller that it finds has a stack pointer and
// a program counter.
func FuzzRow(f *testing.F) {
	f.Add(function, uint16(5), make([]byte, 64), uint16(0))
	// stp x29, x30, [sp, #-32]!; mov x29, sp; str x19, [sp, #16]; sub sp, sp, x0
	f.Add([]byte{0xfd, 0x7b, 0xbe, 0xa9, 0xfd, 0x03, 0, 0x91, 0xf3, 0x0b, 0, 0xf9, 0xff, 0x63, 0x20, 0xcb}, uint16(16), make([]byte, 64), uint16(8))
	f.Fuzz(func(t *testing.T, code []byte, at uint16, memory []byte, reach uint16) {
		for _, arch := range []unwind.Arch{unwind.AMD64, unwind.ARM64} {
			row, why := At(arch, Stopped, code, start, start+uint64(at))
			if row == nil {
				if why == "" {
					t.Fatalf("%v: no rule and no reason", arch)
				}
				continue
			}
			var regs unwind.Registers
			for reg := range unwind.Register(33) {
				regs.Set(reg, stack+uint64(reach)*uint64(reg))
			}
			if len(memory) >= 8 {
				regs.Set(unwind.Register(code[0]&31), binary.LittleEndian.Uint64(memory))
			}
			frame := rule.Frame{Registers: &regs, Kind: unwind.KindInstruction, Memory: unwind.Windows{{Addr: stack, Data: memory}}}
			var caller rule.Caller
			if err := row.Apply(&frame, &caller); err != nil {
				var noMemory *rule.MissingMemory
				var noRegister *rule.MissingRegister
				var impossible *rule.ImpossibleError
				if !errors.As(err, &noMemory) && !errors.As(err, &noRegister) && !errors.As(err, &impossible) {
					t.Fatalf("%v: %v", arch, err)
				}
				continue
			}
			_, pc := caller.Registers.PC(arch)
			sp, ok := caller.Registers.SP(arch)
			if !pc || !ok || sp != caller.CFA {
				t.Fatalf("%v: %s gives %+v", arch, row, caller)
			}
		}
	})
}
