package rule_test

import (
	"errors"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// FuzzApply: a rule of any values, applied to any frame, leads to a caller with a
// program counter and a stack pointer, or to an error of the package that says why
// not; and it equals itself and can be written.
func FuzzApply(f *testing.F) {
	f.Add([]byte{4, 0, 0, 7, 32, 3, 1, 0, 0, 248, 2, 0, 0, 0, 0, 3, 1, 1, 0, 240}, uint64(stack), uint64(stack+16), make([]byte, 64))
	f.Add([]byte{4, 1, 0, 29, 16, 2, 0, 0, 30, 0, 3, 1, 2, 0, 248, 5, 1, 0, 0, 0}, ^uint64(15), uint64(8), []byte{1})
	f.Fuzz(func(t *testing.T, program []byte, sp, fp uint64, memory []byte) {
		next := func() byte {
			if len(program) == 0 {
				return 0
			}
			b := program[0]
			program = program[1:]
			return b
		}
		value := func() rule.Value {
			return rule.Value{From: rule.From(next() % 7), Deref: next()&1 != 0, When: rule.Condition(next() % 4), Register: unwind.Register(next() % 80),
				Offset: int64(int8(next())), Expr: &fixed{value: sp, pushed: true}}
		}
		for _, arch := range []unwind.Arch{unwind.AMD64, unwind.ARM64, unwind.I386, unwind.S390X, unwind.ArchUnknown} {
			r := rule.Rule{Arch: arch, Big: next()&1 != 0, Signal: next()&1 != 0, Kept: next()&1 != 0, CFA: value(), RA: value(), FP: value()}
			for range next() % 4 {
				r.Saved = append(r.Saved, rule.Saved{Register: unwind.Register(next() % 80), Value: value()})
			}
			regs := registers(map[unwind.Register]uint64{arch.SP(): sp, arch.FP(): fp, 1: fp ^ sp})
			frame := rule.Frame{Registers: regs, Kind: unwind.PCKind(next() & 1), Memory: unwind.Windows{{Addr: sp, Data: memory}}, PACMask: 0x7f << 48}
			if !r.Equal(&r) || r.String() == "" {
				t.Fatalf("%s is not itself", r.String())
			}
			var c rule.Caller
			err := r.Apply(&frame, &c)
			var memory *rule.MissingMemory
			switch {
			case err == nil:
				if _, ok := c.Registers.PC(arch); !ok && arch != unwind.ArchUnknown {
					t.Fatalf("%s leads to no program counter", r.String())
				}
				_, _, _ = frame.CheckStack(arch, &c), c.CheckEnd(arch), c.CheckCode(arch)
			case errors.As(err, &memory):
				if memory.Range.Start >= memory.Range.End || memory.Range.End-memory.Range.Start > 4096 {
					t.Fatalf("%s needs %#x", r.String(), memory.Range)
				}
			case !errors.Is(err, rule.ErrOutermost) && !errors.As(err, new(*rule.MissingRegister)) && !errors.As(err, new(*rule.ImpossibleError)):
				t.Fatal(err)
			}
		}
	})
}
