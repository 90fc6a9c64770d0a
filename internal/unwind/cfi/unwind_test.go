package cfi_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/cfi"
	"github.com/clewdbg/clew/internal/unwind/cfi/cfitest"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
	"github.com/clewdbg/clew/unwind/stackasm"
)

const stack = 0x7ffd_0000_0000

// evaluate returns the CFA that an expression leads to, with rax 100 and rbx
// unknown, and memory of known bytes at rsp.
func evaluate(t *testing.T, expression []byte) (uint64, error) {
	t.Helper()
	program := cat([]byte{0x0f}, cfitest.ULEB(uint64(len(expression))), expression, []byte{0x14, 16, 0})
	row := rowAt(t, cfi.New(section(unwind.AMD64, program), cfi.Options{Arch: unwind.AMD64, Bias: 0}), code)
	var regs unwind.Registers
	regs.Set(0, 100)
	regs.Set(unwind.AMD64RSP, stack)
	regs.Set(unwind.AMD64RIP, code)
	var caller rule.Caller
	err := apply(row, &rule.Frame{Registers: &regs, Memory: unwind.Windows{
		{Addr: stack, Data: []byte{0x11, 0x22, 0x33, 0x84, 0x55, 0x66, 0x77, 0x88}}}}, &caller)
	return caller.CFA, err
}

// TestExpression evaluates every operation. What is wanted is by DWARF 5, 2.5.1.
func TestExpression(t *testing.T) {
	const minus = ^uint64(0) // -1
	c1u := func(v byte) []byte { return []byte{0x08, v} }
	c1s := func(v int8) []byte { return []byte{0x09, byte(v)} }
	tests := []struct {
		name string
		code []byte
		want uint64
	}{
		{"addr", cat([]byte{0x03}, binary.LittleEndian.AppendUint64(nil, 0x1234)), 0x1234},
		{"deref", []byte{0x77, 0, 0x06}, 0x8877_6655_8433_2211},
		{"deref_size 1", []byte{0x77, 3, 0x94, 1}, 0x84},
		{"deref_size 2", []byte{0x77, 2, 0x94, 2}, 0x8433},
		{"deref_size 4", []byte{0x77, 0, 0x94, 4}, 0x8433_2211},
		{"deref_size 8", []byte{0x77, 0, 0x94, 8}, 0x8877_6655_8433_2211},
		{"const1u", c1u(0xff), 0xff},
		{"const1s", c1s(-1), minus},
		{"const2u", []byte{0x0a, 0xff, 0xff}, 0xffff},
		{"const2s", []byte{0x0b, 0xff, 0xff}, minus},
		{"const4u", []byte{0x0c, 0xff, 0xff, 0xff, 0xff}, 0xffff_ffff},
		{"const4s", []byte{0x0d, 0xff, 0xff, 0xff, 0xff}, minus},
		{"const8u", cat([]byte{0x0e}, bytes.Repeat([]byte{0x80}, 8)), 0x8080_8080_8080_8080},
		{"const8s", cat([]byte{0x0f}, bytes.Repeat([]byte{0xff}, 8)), minus},
		{"constu", []byte{0x10, 0x80, 0x01}, 128},
		{"consts", []byte{0x11, 0x80, 0x7f}, minus - 127},
		{"lit0", []byte{0x30}, 0},
		{"lit31", []byte{0x4f}, 31},
		{"breg0", []byte{0x70, 0x7f}, 99},
		{"bregx", []byte{0x92, 0x00, 0x05}, 105},
		{"dup", []byte{0x35, 0x12, 0x1e}, 25},
		{"drop", []byte{0x35, 0x36, 0x13}, 5},
		{"over", []byte{0x35, 0x36, 0x14}, 5},
		{"pick", []byte{0x35, 0x36, 0x37, 0x15, 2}, 5},
		{"pick 0", []byte{0x35, 0x36, 0x37, 0x15, 0}, 7},
		{"swap", []byte{0x35, 0x36, 0x16}, 5},
		{"rot", []byte{0x35, 0x36, 0x37, 0x17}, 6},
		{"rot, second", []byte{0x35, 0x36, 0x37, 0x17, 0x13}, 5},
		{"rot, third", []byte{0x35, 0x36, 0x37, 0x17, 0x13, 0x13}, 7},
		{"abs", cat(c1s(-5), []byte{0x19}), 5},
		{"abs of what is positive", []byte{0x35, 0x19}, 5},
		{"and", []byte{0x3c, 0x3a, 0x1a}, 8},
		{"div", cat(c1s(-7), []byte{0x32, 0x1b}), minus - 2},
		{"div of the least by -1", cat([]byte{0x0e}, []byte{0, 0, 0, 0, 0, 0, 0, 0x80}, c1s(-1), []byte{0x1b}), 1 << 63},
		{"minus", []byte{0x32, 0x35, 0x1c}, minus - 2},
		{"mod", []byte{0x37, 0x34, 0x1d}, 3},
		{"mul", []byte{0x37, 0x34, 0x1e}, 28},
		{"neg", []byte{0x37, 0x1f}, minus - 6},
		{"not", []byte{0x30, 0x20}, minus},
		{"or", []byte{0x35, 0x32, 0x21}, 7},
		{"plus", []byte{0x35, 0x32, 0x22}, 7},
		{"plus_uconst", []byte{0x35, 0x23, 0x80, 0x01}, 133},
		{"shl", []byte{0x31, 0x3c, 0x24}, 1 << 12},
		{"shl by 64", cat([]byte{0x31}, c1u(64), []byte{0x24}), 0},
		{"shr", cat(c1s(-1), c1u(60), []byte{0x25}), 15},
		{"shra", cat(c1s(-16), []byte{0x32, 0x26}), minus - 3},
		{"shra by 64", cat(c1s(-16), c1u(64), []byte{0x26}), minus},
		{"xor", []byte{0x35, 0x36, 0x27}, 3},
		{"bra taken", []byte{0x35, 0x31, 0x28, 1, 0, 0x36, 0x96}, 5},
		{"bra not taken", []byte{0x35, 0x30, 0x28, 1, 0, 0x36}, 6},
		{"skip", []byte{0x35, 0x2f, 1, 0, 0x36}, 5},
		{"skip to the end", []byte{0x35, 0x2f, 0, 0}, 5},
		{"a loop that ends", []byte{0x39, 0x31, 0x1c, 0x12, 0x28, 0xfa, 0xff}, 0},
		{"eq", []byte{0x35, 0x35, 0x29}, 1},
		{"ge", cat(c1s(-1), []byte{0x30, 0x2a}), 0},
		{"gt", []byte{0x35, 0x35, 0x2b}, 0},
		{"le", cat(c1s(-1), []byte{0x30, 0x2c}), 1},
		{"lt", cat(c1s(-1), []byte{0x30, 0x2d}), 1},
		{"ne", []byte{0x35, 0x35, 0x2e}, 0},
		{"nop", []byte{0x96, 0x35, 0x96}, 5},
		// Procedure linkage table: 8 more from the second instruction on.
		{"PLT entry", []byte{0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}, stack + 8},
	}
	for _, tt := range tests {
		if got, err := evaluate(t, tt.code); err != nil || got != tt.want {
			t.Errorf("%s: %#x, %v, want %#x", tt.name, got, err, tt.want)
		}
	}
}

// TestExpressionRefused: errors say where; an expression without end ends.
func TestExpressionRefused(t *testing.T) {
	for want, expressions := range map[string][][]byte{
		"it does not end":               {{0x2f, 0xfd, 0xff}, {0x30, 0x13, 0x2f, 0xfb, 0xff}, {0x31, 0x12, 0x28, 0xfc, 0xff}},
		"its stack is full":             {{0x30, 0x2f, 0xfc, 0xff}, bytes.Repeat([]byte{0x30}, 65)},
		"its stack is too short":        {{0x06}, {0x12}, {0x13}, {0x14}, {0x35, 0x14}, {0x15, 0}, {0x35, 0x15, 1}, {0x35, 0x16}, {0x35, 0x36, 0x17}, {0x1f}, {0x35, 0x22}, {0x28, 0, 0}, {0x23, 1}},
		"it divides by 0":               {{0x35, 0x30, 0x1b}, {0x35, 0x30, 0x1d}},
		"it jumps out of itself":        {{0x2f, 1, 0}, {0x2f, 0xfc, 0xff}, {0x31, 0x28, 0xff, 0x7f}},
		"it leaves no value":            {{}, {0x96}, {0x35, 0x13}},
		"it is cut off":                 {{0x08}, {0x0e, 1, 2}, {0x10, 0x80}, {0x77}, {0x92, 0x07}, {0x35, 0x15}, {0x2f, 1}},
		"operation 0x97 is not known":   {{0x97}},
		"operation 0x50 is not known":   {{0x50}},
		"operation 0x9c is not known":   {{0x9c}},
		"operation 0x0 is not known":    {{0x00}},
		"it reads 3 bytes":              {{0x77, 0, 0x94, 3}},
		"register 60 is not known":      {{0x92, 60, 0}},
		"needs rbx, which is not known": {{0x73, 0}},
		"[0x7ffd00000008, 0x7ffd000":    {{0x77, 8, 0x06}},
	} {
		for _, e := range expressions {
			if got, err := evaluate(t, e); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("% x: %#x, %v, want %q", e, got, err, want)
			}
		}
	}
}

// unwindOne makes a row of a program's instructions and applies it.
func unwindOne(t *testing.T, arch unwind.Arch, program []byte, s *stackasm.Stack, values stackasm.Values, f rule.Frame) (rule.Caller, *stackasm.Memory, error) {
	t.Helper()
	m, err := s.Assemble()
	if err != nil {
		t.Fatal(err)
	}
	regs, err := m.Registers(arch, values)
	if err != nil {
		t.Fatal(err)
	}
	f.Registers, f.Memory = &regs, m.Windows()
	row := rowAt(t, cfi.New(section(arch, program), cfi.Options{Arch: arch}), code)
	var caller rule.Caller
	err = apply(row, &f, &caller)
	return caller, m, err
}

// TestValueExpression: an expression that computes a register's value or the CFA
// is not read from memory; one that computes a place is (F3 of Delve's faults was
// to read both).
func TestValueExpression(t *testing.T) {
	s := stackasm.New(unwind.AMD64, stack).Mark("sp").Word(0x11, 0x22, 0x33, 0x44, 0x40_1234)
	program := []byte{
		0x0f, 2, 0x77, 40, // CFA is rsp+40
		0x10, 6, 2, 0x77, 8, // rbp at rsp+8
		0x16, 3, 2, 0x77, 8, // rbx is rsp+8
		0x10, 12, 2, 0x23, 0, // r12 at the CFA
	}
	c, m, err := unwindOne(t, unwind.AMD64, program, s.Word(0x55), stackasm.Values{"rsp": stackasm.At("sp")}, rule.Frame{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[unwind.Register]uint64{6: 0x22, 3: m.Addr("sp") + 8, 12: 0x55, 7: m.Addr("sp") + 40, 16: 0x40_1234}
	for reg, w := range want {
		if v, ok := c.Registers.Get(reg); !ok || v != w {
			t.Errorf("%s is %#x (%v), want %#x", unwind.AMD64.RegisterName(reg), v, ok, w)
		}
	}
	if c.CFA != m.Addr("sp")+40 {
		t.Errorf("CFA %#x", c.CFA)
	}
}

// TestCallerHolds: callee-saved registers without a rule stay; others do not,
// unless a rule says so.
func TestCallerHolds(t *testing.T) {
	all := func(arch unwind.Arch) (v stackasm.Values) {
		v = stackasm.Values{}
		for r := range unwind.Register(80) {
			if name := arch.RegisterName(r); !strings.HasPrefix(name, "reg") && (arch == unwind.AMD64 || r < 33 || r >= 72) {
				v[name] = stackasm.Num(1000 + uint64(r))
			}
		}
		v[arch.RegisterName(arch.SP())] = stackasm.At("sp")
		return v
	}
	tests := []struct {
		arch    unwind.Arch
		program []byte
		kept    string
	}{
		{unwind.AMD64, nil, "rbx rbp r12 r13 r14 r15"},
		{unwind.AMD64, []byte{0x07, 3, 0x08, 1}, "rdx rbp r12 r13 r14 r15"},
		{unwind.ARM64, []byte{0x0e, 16, 0x9e, 1}, "x19 x20 x21 x22 x23 x24 x25 x26 x27 x28 x29 d8 d9 d10 d11 d12 d13 d14 d15"},
	}
	for _, tt := range tests {
		s := stackasm.New(tt.arch, stack).Mark("sp").Word(0x40_1230, 0x40_1230)
		c, _, err := unwindOne(t, tt.arch, tt.program, s, all(tt.arch), rule.Frame{Kind: unwind.KindReturn})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for reg, v := range c.Registers.All() {
			if reg == tt.arch.SP() || reg == tt.arch.PC() {
				continue
			}
			got = append(got, tt.arch.RegisterName(reg))
			if v != 1000+uint64(reg) {
				t.Errorf("%s is %d", tt.arch.RegisterName(reg), v)
			}
		}
		if strings.Join(got, " ") != tt.kept {
			t.Errorf("%v: %v, want %s", tt.arch, got, tt.kept)
		}
	}
}

// TestReturnAddress: where it may be, and where it cannot.
func TestReturnAddress(t *testing.T) {
	lr := []byte{}
	tests := []struct {
		name    string
		arch    unwind.Arch
		program []byte
		frame   rule.Frame
		ra      uint64
		err     string
	}{
		{"on the stack", unwind.AMD64, nil, rule.Frame{}, 0x40_1230, ""},
		{"in a register", unwind.AMD64, []byte{0x09, 16, 1}, rule.Frame{}, 0x40_7770, ""},
		{"undefined", unwind.AMD64, []byte{0x07, 16}, rule.Frame{}, 0, "return address undefined"},
		{"no rule", unwind.AMD64, []byte{0x08, 16}, rule.Frame{}, 0, "no rule for the return address"},
		{"in the link register", unwind.ARM64, lr, rule.Frame{}, 0x40_8880, ""},
		{"R10: link register of a caller", unwind.ARM64, lr, rule.Frame{Kind: unwind.KindReturn}, 0, "overwritten (R10)"},
		{"R11: signed", unwind.ARM64, []byte{0x2d, 0x0e, 16, 0x9e, 1}, rule.Frame{PACMask: 0x007f_0000_0000_0000}, 0x40_1230, ""},
		{"unreadable", unwind.AMD64, []byte{0x0e, 99}, rule.Frame{}, 0, "is needed"},
		{"R10: at the end of memory", unwind.AMD64, []byte{0x0c, 0, 8}, rule.Frame{}, 0, "is no address"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ra := uint64(0x40_1230)
			if strings.Contains(tt.name, "signed") {
				ra |= 0x0055_0000_0000_0000
			}
			s := stackasm.New(tt.arch, stack).Mark("sp").Word(ra, ra)
			v := stackasm.Values{"rsp": stackasm.At("sp"), "rdx": stackasm.Num(0x40_7770), "rax": stackasm.Num(^uint64(3))}
			if tt.arch == unwind.ARM64 {
				v = stackasm.Values{"sp": stackasm.At("sp"), "x30": stackasm.Num(0x40_8880)}
			}
			c, _, err := unwindOne(t, tt.arch, tt.program, s, v, tt.frame)
			pc, _ := c.Registers.PC(tt.arch)
			switch {
			case tt.err == "" && (err != nil || pc != tt.ra):
				t.Errorf("%#x, %v, want %#x", pc, err, tt.ra)
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("%#x, %v, want %q", pc, err, tt.err)
			}
			if errors.Is(err, rule.ErrOutermost) != (tt.name == "undefined") {
				t.Errorf("outermost: %v", err)
			}
		})
	}
}

// TestRealignedEpilogue: in a realigned function's last instructions gcc's
// rules for rbp and what lies relative to it are those of the body. They count
// while rbp is the frame's own.
func TestRealignedEpilogue(t *testing.T) {
	program := []byte{0x0c, 10, 0, 0x10, 6, 2, 0x76, 0, 0x10, 3, 2, 0x76, 0x78} // cfa=r10; rbp at [rbp], rbx at [rbp-8]
	s := stackasm.New(unwind.AMD64, stack).Mark("rbx").Word(0xb0b).Mark("rbp").Word(0xf00).Mark("ra").Word(0x40_1230).Mark("cfa").Word(0xbad, 0xbad)
	for _, tt := range []struct {
		sp, fp   stackasm.Value
		rbx, rbp uint64
	}{
		{stackasm.At("rbx"), stackasm.At("rbp"), 0xb0b, 0xf00},
		{stackasm.At("rbp"), stackasm.At("rbp"), 0xb0b, 0xf00},
		{stackasm.At("ra"), stackasm.At("cfa").Plus(8), 77, stack + 32},
		{stackasm.At("ra"), stackasm.Num(0), 77, 0},
		{stackasm.At("ra"), stackasm.At("rbp"), 77, stack + 8},
	} {
		c, _, err := unwindOne(t, unwind.AMD64, program, s, stackasm.Values{"rsp": tt.sp, "rbp": tt.fp, "rbx": stackasm.Num(77), "r10": stackasm.At("cfa")}, rule.Frame{})
		rbp, _ := c.Registers.FP(unwind.AMD64)
		rbx, _ := c.Registers.Get(unwind.AMD64RBX)
		if err != nil || rbx != tt.rbx || rbp != tt.rbp {
			t.Errorf("rsp %+v, rbp %+v: rbx %#x, rbp %#x, %v; want %#x, %#x", tt.sp, tt.fp, rbx, rbp, err, tt.rbx, tt.rbp)
		}
	}
}

// TestNeed: what is asked for has all that the row reads, so that one answer
// is enough.
func TestNeed(t *testing.T) {
	row := rowAt(t, cfi.New(section(unwind.AMD64, []byte{0x0e, 64, 0x86, 2, 0x83, 7}), cfi.Options{Arch: unwind.AMD64}), code)
	var regs unwind.Registers
	regs.Set(unwind.AMD64RSP, stack)
	var caller rule.Caller
	var need *rule.MissingMemory
	if err := apply(row, &rule.Frame{Registers: &regs}, &caller); !errors.As(err, &need) || need.Range != (unwind.Range{Start: stack + 8, End: stack + 64}) {
		t.Errorf("%v", err)
	}
}

// apply applies a row's rule.
func apply(row *cfi.Row, f *rule.Frame, caller *rule.Caller) error {
	r := row.Rule()
	return r.Apply(f, caller)
}

func equations(row *cfi.Row) rule.Equations {
	r := row.Rule()
	return r.Equations()
}
