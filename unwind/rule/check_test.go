package rule_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// TestCheckStack: where a caller may lie (R3, R10).
func TestCheckStack(t *testing.T) {
	segment := unwind.Segment{Low: stack, High: stack + 0x1000}
	for _, tt := range []struct {
		name   string
		arch   unwind.Arch
		kind   unwind.PCKind
		sp     uint64
		caller uint64
		pc     uint64 // of the caller
		want   string
	}{
		{"above", unwind.AMD64, unwind.KindReturn, stack, stack + 16, code, ""},
		{"the segment's end", unwind.AMD64, unwind.KindReturn, stack, stack + 0x1000, code, ""},
		{"beyond it", unwind.AMD64, unwind.KindReturn, stack, stack + 0x1008, code, "outside the stack segment"},
		{"below it", unwind.AMD64, unwind.KindReturn, 0, stack - 8, code, "outside the stack segment"},
		{"not above", unwind.AMD64, unwind.KindInstruction, stack + 16, stack + 16, code, "is not above"},
		{"below", unwind.ARM64, unwind.KindInstruction, stack + 16, stack, code, "is not above"},
		{"a leaf", unwind.ARM64, unwind.KindInstruction, stack + 16, stack + 16, code, ""},
		{"a leaf that goes nowhere", unwind.ARM64, unwind.KindInstruction, stack + 16, stack + 16, 0x1234_0000, "is not above"},
		{"a leaf that has called", unwind.ARM64, unwind.KindReturn, stack + 16, stack + 16, code, "is not above"},
		{"unaligned", unwind.AMD64, unwind.KindReturn, stack, stack + 12, code, "no multiple of 8"},
		{"unaligned", unwind.ARM64, unwind.KindReturn, stack, stack + 24, code, "no multiple of 16"},
	} {
		t.Run(tt.name+" "+tt.arch.String(), func(t *testing.T) {
			regs := registers(map[unwind.Register]uint64{tt.arch.PC(): 0x1234_0000})
			if tt.sp != 0 {
				regs.Set(tt.arch.SP(), tt.sp)
			}
			c := rule.Caller{CFA: tt.caller, Registers: *registers(map[unwind.Register]uint64{tt.arch.SP(): tt.caller, tt.arch.PC(): tt.pc})}
			f := rule.Frame{Registers: regs, Kind: tt.kind, Segment: segment}
			err := f.CheckStack(tt.arch, &c)
			var impossible *rule.ImpossibleError
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (!errors.As(err, &impossible) || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%v, want %q", err, tt.want)
			case tt.want != "" && (impossible.CFA != tt.caller || impossible.PC != tt.pc):
				t.Errorf("%+v", impossible)
			}
		})
	}
	var c rule.Caller
	f := rule.Frame{Registers: registers(nil)}
	if err := f.CheckStack(unwind.AMD64, &c); !errors.As(err, new(*rule.MissingRegister)) {
		t.Errorf("without a stack pointer: %v", err)
	}
}

// TestCheckReturnAddress: what ends a stack (R8), and where no code can lie (R4, R6).
func TestCheckReturnAddress(t *testing.T) {
	for _, tt := range []struct {
		arch    unwind.Arch
		pc      uint64
		end, no bool
	}{
		{unwind.AMD64, 0, true, false}, {unwind.AMD64, 4095, true, false}, {unwind.AMD64, 4096, false, false},
		{unwind.AMD64, 0x7fff_ffff_ffff, false, false}, {unwind.AMD64, 0x8000_0000_0000, false, true},
		{unwind.AMD64, 0xffff_7fff_ffff_ffff, false, true}, {unwind.AMD64, 0xffff_8000_0000_0000, false, false},
		{unwind.ARM64, 0x000f_ffff_ffff_ffff, false, false}, {unwind.ARM64, 0x0010_0000_0000_0000, false, true}, {unwind.ARM64, ^uint64(0), false, true},
		{unwind.I386, 0xffff_ffff, false, false}, {unwind.I386, 1 << 32, false, true}, {unwind.S390X, ^uint64(0), false, false},
	} {
		c := rule.Caller{CFA: stack, Registers: *registers(map[unwind.Register]uint64{tt.arch.PC(): tt.pc})}
		var end *rule.EndError
		if err := c.CheckEnd(tt.arch); errors.As(err, &end) != tt.end || tt.end && (end.PC != tt.pc || !strings.Contains(err.Error(), "below 4096 (R8)")) {
			t.Errorf("%v, %#x: %v", tt.arch, tt.pc, err)
		}
		if err := c.CheckCode(tt.arch); errors.As(err, new(*rule.ImpossibleError)) != tt.no {
			t.Errorf("%v, %#x: %v", tt.arch, tt.pc, err)
		}
	}
}

// TestStrip: bit 55 says what the bits under the mask were (R11).
func TestStrip(t *testing.T) {
	const mask = 0xff7f_0000_0000_0000
	for addr, want := range map[uint64]uint64{
		0x0012_3456_7890_1230: 0x0000_3456_7890_1230,
		0xab12_3456_7890_1230: 0x0000_3456_7890_1230,
		0x0092_3456_7890_1230: 0xffff_3456_7890_1230,
	} {
		if got := rule.Strip(addr, mask); got != want&^0x0080_0000_0000_0000|addr&0x0080_0000_0000_0000 {
			t.Errorf("%#x: %#x, want %#x", addr, got, want)
		}
		if rule.Strip(addr, 0) != addr {
			t.Errorf("%#x is changed without a mask", addr)
		}
	}
}
