package rule_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
	"github.com/clewdbg/clew/unwind/stackasm"
)

const (
	stack = 0x7ffd_0000_0000
	code  = 0x40_1230
)

// fixed is a DWARF expression with a fixed outcome.
type fixed struct {
	value  uint64
	err    error
	pushed bool // the value is the CFA plus value
	ops    string
}

func (e *fixed) Evaluate(_ *rule.Frame, cfa uint64, push bool) (uint64, error) {
	if e.pushed && push {
		return cfa + e.value, e.err
	}
	return e.value, e.err
}

func (e *fixed) Operations() []byte { return []byte(e.ops) }
func (e *fixed) String() string     { return e.ops }

// words is a stack of four words: 0x11, 0x22, 0x33 and a return address.
func words(t *testing.T, arch unwind.Arch) unwind.Windows {
	t.Helper()
	m, err := stackasm.New(arch, stack).Word(0x11, 0x22, 0x33, code).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	return m.Windows()
}

func registers(values map[unwind.Register]uint64) *unwind.Registers {
	var r unwind.Registers
	for reg, v := range values {
		r.Set(reg, v)
	}
	return &r
}

// body is the rule of a frame that has pushed three registers.
func body() rule.Rule {
	return rule.Rule{Arch: unwind.AMD64, Kept: true, CFA: rule.In(unwind.AMD64RSP, 32), RA: rule.AtCFA(-8), FP: rule.Value{From: rule.Same}}
}

// TestValues: each variant of a value, for rbx.
func TestValues(t *testing.T) {
	const rbx, rax, rdx = unwind.AMD64RBX, 0, 1
	when := func(v rule.Value, c rule.Condition) rule.Value {
		v.When = c
		return v
	}
	for name, tt := range map[string]struct {
		value rule.Value
		fp    uint64
		want  uint64 // 0: lost
		err   string
	}{
		"lost":                            {value: rule.Value{}},
		"undefined":                       {value: rule.Value{From: rule.Undefined}},
		"same":                            {value: rule.Value{From: rule.Same}, want: 0xb},
		"at CFA":                          {value: rule.AtCFA(-16), want: 0x33},
		"CFA plus":                        {value: rule.Value{From: rule.CFA, Offset: -16}, want: stack + 16},
		"in a register":                   {value: rule.In(rax, 0), want: 0xa},
		"a register plus":                 {value: rule.In(rax, 6), want: 0x10},
		"in an unknown register":          {value: rule.In(rdx, 0)},
		"at a register":                   {value: rule.At(unwind.AMD64RSP, 8), want: 0x22},
		"at an unknown register":          {value: rule.At(rdx, 8)},
		"expression":                      {value: rule.Value{From: rule.Expression, Expr: &fixed{value: 77}}, want: 77},
		"at an expression":                {value: rule.Value{From: rule.Expression, Deref: true, Expr: &fixed{pushed: true, value: ^uint64(31)}}, want: 0x11},
		"expression without one":          {value: rule.Value{From: rule.Expression}, err: "missing"},
		"expression that is wrong":        {value: rule.Value{From: rule.Expression, Expr: &fixed{err: errors.New("bad")}}, err: "bad"},
		"own frame pointer":               {value: when(rule.At(unwind.AMD64RBP, 0), rule.Unrestored), fp: stack + 16, want: 0x33},
		"restored, below the stack":       {value: when(rule.At(unwind.AMD64RBP, 0), rule.Unrestored), fp: stack - 8, want: 0xb},
		"restored, the CFA or above":      {value: when(rule.At(unwind.AMD64RBP, 0), rule.Unrestored), fp: stack + 32, want: 0xb},
		"pointed to":                      {value: when(rule.AtCFA(-16), rule.Pointed), fp: stack + 16, want: 0x33},
		"not pointed to":                  {value: when(rule.AtCFA(-16), rule.Pointed), fp: stack + 8},
		"pointed to, by a register":       {value: when(rule.At(unwind.AMD64RSP, 8), rule.Pointed), fp: stack + 8, want: 0x22},
		"beyond the address space":        {value: rule.Value{From: rule.CFA, Offset: -stack - 33}, err: "is no address"},
		"memory that is not there":        {value: rule.AtCFA(8), err: "is needed"},
		"memory at the end of everything": {value: rule.Value{From: rule.Expression, Deref: true, Expr: &fixed{value: ^uint64(3)}}, err: "end of the address space"},
	} {
		t.Run(name, func(t *testing.T) {
			r := body()
			r.Saved = []rule.Saved{{Register: rbx, Value: tt.value}}
			regs := registers(map[unwind.Register]uint64{unwind.AMD64RSP: stack, rbx: 0xb, rax: 0xa, unwind.AMD64RBP: tt.fp})
			var c rule.Caller
			err := r.Apply(&rule.Frame{Registers: regs, Memory: words(t, unwind.AMD64)}, &c)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("%v, want %q", err, tt.err)
				}
				return
			}
			got, _ := c.Registers.Get(rbx)
			pc, _ := c.Registers.PC(unwind.AMD64)
			sp, _ := c.Registers.SP(unwind.AMD64)
			if err != nil || got != tt.want || pc != code || sp != stack+32 || c.CFA != sp || c.Kind != unwind.KindReturn {
				t.Errorf("rbx %#x, want %#x; pc %#x, sp %#x, %+v, %v", got, tt.want, pc, sp, c, err)
			}
		})
	}
}

// TestCFA: where the CFA may be.
func TestCFA(t *testing.T) {
	const rax = 0
	for name, tt := range map[string]struct {
		cfa  rule.Value
		add  int64
		want uint64
		err  error
	}{
		"register":             {rule.In(unwind.AMD64RSP, 32), 5, stack + 32, nil},
		"word":                 {rule.At(unwind.AMD64RSP, 8), 0x1e, 0x40, nil},
		"expression":           {rule.Value{From: rule.Expression, Expr: &fixed{value: stack + 32}}, 0, stack + 32, nil},
		"nothing":              {rule.Value{}, 0, 0, new(rule.ImpossibleError)},
		"itself":               {rule.Value{From: rule.CFA}, 0, 0, new(rule.ImpossibleError)},
		"unknown register":     {rule.In(rax, 8), 0, 0, new(rule.MissingRegister)},
		"overflow":             {rule.In(unwind.AMD64RBP, 16), 0, 0, new(rule.ImpossibleError)},
		"overflow of the word": {rule.At(unwind.AMD64RSP, 8), -0x23, 0, new(rule.ImpossibleError)},
		"word elsewhere":       {rule.At(unwind.AMD64RSP, 0x1000), 0, 0, new(rule.MissingMemory)},
	} {
		t.Run(name, func(t *testing.T) {
			r := body()
			r.CFA, r.Add, r.RA = tt.cfa, tt.add, rule.In(unwind.AMD64RSP, 0)
			regs := registers(map[unwind.Register]uint64{unwind.AMD64RSP: stack, unwind.AMD64RBP: ^uint64(7)})
			var c rule.Caller
			err := r.Apply(&rule.Frame{Registers: regs, Memory: words(t, unwind.AMD64)}, &c)
			if !sameType(err, tt.err) || c.CFA != tt.want {
				t.Errorf("%#x, %v (%T), want %#x, %T", c.CFA, err, err, tt.want, tt.err)
			}
		})
	}
}

func sameType(got, want error) bool {
	switch want.(type) { //nolint:errorlint // a type, not an error that occurred
	case nil:
		return got == nil
	case *rule.ImpossibleError:
		return errors.As(got, new(*rule.ImpossibleError))
	case *rule.MissingRegister:
		return errors.As(got, new(*rule.MissingRegister))
	case *rule.MissingMemory:
		return errors.As(got, new(*rule.MissingMemory))
	}
	return errors.Is(got, want)
}

// TestReturnAddress: where it may be, and where it cannot.
func TestReturnAddress(t *testing.T) {
	const mask = 0x007f_0000_0000_0000
	same, signal := rule.Value{From: rule.Same}, true
	for name, tt := range map[string]struct {
		arch   unwind.Arch
		ra     rule.Value
		kind   unwind.PCKind
		signal bool
		lr     uint64
		want   uint64
		err    string
	}{
		"stack":                                 {unwind.ARM64, rule.AtCFA(-8), unwind.KindReturn, false, 0, code, ""},
		"link register":                         {unwind.ARM64, same, unwind.KindInstruction, false, code + 4, code + 4, ""},
		"link register by name":                 {unwind.ARM64, rule.In(30, 0), unwind.KindInstruction, false, code + 4, code + 4, ""},
		"R11: signed":                           {unwind.ARM64, same, unwind.KindInstruction, false, code | 0x0055<<48, code, ""},
		"R11: signed, upper half":               {unwind.ARM64, same, unwind.KindInstruction, false, 0xffd5_0000_0040_1230, 0xffff_0000_0040_1230, ""},
		"R10: overwritten":                      {unwind.ARM64, same, unwind.KindReturn, false, code, 0, "overwritten (R10)"},
		"R10: overwritten, by name":             {unwind.ARM64, rule.In(30, 0), unwind.KindReturn, false, code, 0, "overwritten (R10)"},
		"R10: interrupted by a signal":          {unwind.ARM64, same, unwind.KindReturn, signal, code, code, ""},
		"R10: from the link register":           {unwind.ARM64, rule.At(30, 0), unwind.KindReturn, false, stack, 0, "x30, which is not known"},
		"no link register":                      {unwind.AMD64, same, unwind.KindInstruction, false, 0, 0, "no rule for the return address"},
		"lost":                                  {unwind.AMD64, rule.Value{}, unwind.KindInstruction, false, 0, 0, "no rule for the return address"},
		"undefined":                             {unwind.AMD64, rule.Value{From: rule.Undefined}, unwind.KindInstruction, false, 0, 0, "return address undefined"},
		"another architecture's are not signed": {unwind.AMD64, rule.In(3, 0), unwind.KindInstruction, false, 0, 0x0055_0000_0040_1230, ""},
	} {
		t.Run(name, func(t *testing.T) {
			regs := registers(map[unwind.Register]uint64{tt.arch.SP(): stack, 3: 0x0055_0000_0040_1230})
			if tt.lr != 0 {
				regs.Set(unwind.ARM64LR, tt.lr)
			}
			r := rule.Rule{Arch: tt.arch, Kept: true, Signal: tt.signal, CFA: rule.In(tt.arch.SP(), 32), RA: tt.ra}
			var c rule.Caller
			err := r.Apply(&rule.Frame{Registers: regs, Kind: tt.kind, Memory: words(t, tt.arch), PACMask: mask}, &c)
			pc, _ := c.Registers.PC(tt.arch)
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) || pc != tt.want {
				t.Errorf("%#x, %v; want %#x, %q", pc, err, tt.want, tt.err)
			}
			if errors.Is(err, rule.ErrOutermost) != (name == "undefined") {
				t.Errorf("outermost: %v", err)
			}
			if err == nil && (c.Kind == unwind.KindInstruction) != tt.signal {
				t.Errorf("kind %v", c.Kind)
			}
		})
	}
}

// TestKept: which registers a caller has that the rule does not mention.
func TestKept(t *testing.T) {
	for _, tt := range []struct {
		arch unwind.Arch
		kept bool
		want int // with PC and SP
	}{{unwind.AMD64, true, 8}, {unwind.AMD64, false, 2}, {unwind.ARM64, true, 21}, {unwind.ARM64, false, 2}, {unwind.I386, true, 6}, {unwind.S390X, true, 2}} {
		var regs unwind.Registers
		for reg := range unwind.Register(80) {
			regs.Set(reg, stack&0xffff_ffff)
		}
		r := rule.Rule{Arch: tt.arch, Kept: tt.kept, CFA: rule.In(tt.arch.SP(), 32), RA: rule.In(0, 0)}
		if tt.kept {
			r.FP.From = rule.Same
		}
		var c rule.Caller
		if err := r.Apply(&rule.Frame{Registers: &regs}, &c); err != nil {
			t.Fatal(err)
		}
		if tt.arch == unwind.S390X {
			c.Registers.Forget(tt.arch.FP())
		}
		if c.Registers.Len() != tt.want {
			t.Errorf("%v, %v: %d registers, want %d", tt.arch, tt.kept, c.Registers.Len(), tt.want)
		}
	}
}

// TestSmallWords: on 386 a word has four bytes, and an address no more (R10).
func TestSmallWords(t *testing.T) {
	r := rule.Entry(unwind.I386)
	window := unwind.Windows{{Addr: 0xffff_fff0, Data: []byte{0x78, 0x56, 0x34, 0x12}}}
	var c rule.Caller
	f := rule.Frame{Registers: registers(map[unwind.Register]uint64{unwind.I386ESP: 0xffff_fff0}), Memory: window}
	if err := r.Apply(&f, &c); err != nil || c.CFA != 0xffff_fff4 {
		t.Fatalf("%#x, %v", c.CFA, err)
	}
	if pc, _ := c.Registers.PC(unwind.I386); pc != 0x1234_5678 {
		t.Errorf("pc %#x", pc)
	}
	r.CFA.Offset = 16
	if err := r.Apply(&f, &c); !errors.As(err, new(*rule.ImpossibleError)) {
		t.Errorf("%v", err)
	}
}

// TestBigEndian: words are read in the rule's byte order.
func TestBigEndian(t *testing.T) {
	r := rule.Rule{Arch: unwind.S390X, Big: true, CFA: rule.In(15, 160), RA: rule.At(15, 0),
		Saved: []rule.Saved{{Register: 15, Value: rule.Value{From: rule.CFA, Offset: -160}}}}
	f := rule.Frame{Registers: registers(map[unwind.Register]uint64{15: stack}), Memory: unwind.Windows{{Addr: stack, Data: []byte{0, 0, 0, 0, 0, 0x40, 0x12, 0x30}}}}
	var c rule.Caller
	err := r.Apply(&f, &c)
	pc, _ := c.Registers.PC(unwind.S390X)
	if sp, _ := c.Registers.SP(unwind.S390X); err != nil || pc != code || sp != stack || c.CFA != stack+160 {
		t.Errorf("pc %#x, sp %#x, CFA %#x, %v", pc, sp, c.CFA, err)
	}
}

// TestNeed: what is asked for has all that the rule reads around the CFA, but not
// what lies far away; and what was found before the error is in the caller.
func TestNeed(t *testing.T) {
	r := body()
	r.FP = rule.AtCFA(-24)
	r.Saved = []rule.Saved{{Register: unwind.AMD64RBX, Value: rule.AtCFA(-0x10_0000)}, {Register: unwind.AMD64R12, Value: rule.AtCFA(-32)}}
	regs := registers(map[unwind.Register]uint64{unwind.AMD64RSP: stack})
	var c rule.Caller
	var need *rule.MissingMemory
	if err := r.Apply(&rule.Frame{Registers: regs}, &c); !errors.As(err, &need) || need.Range != (unwind.Range{Start: stack, End: stack + 32}) {
		t.Errorf("%v", err)
	}
	if _, known := c.Registers.PC(unwind.AMD64); c.CFA != stack+32 || known {
		t.Errorf("%+v", c)
	}
	r.Saved = r.Saved[:1]
	if err := r.Apply(&rule.Frame{Registers: regs, Memory: words(t, unwind.AMD64)}, &c); !errors.As(err, &need) {
		t.Errorf("%v", err)
	}
	if pc, _ := c.Registers.PC(unwind.AMD64); pc != code {
		t.Errorf("pc %#x", pc)
	}
}

// TestNoAllocation: a rule is applied without an allocation.
func TestNoAllocation(t *testing.T) {
	r := body()
	r.FP = rule.AtCFA(-16)
	r.Saved = []rule.Saved{{Register: unwind.AMD64RBX, Value: rule.AtCFA(-24)}}
	f := rule.Frame{Registers: registers(map[unwind.Register]uint64{unwind.AMD64RSP: stack}), Memory: words(t, unwind.AMD64)}
	var c rule.Caller
	if n := testing.AllocsPerRun(100, func() {
		if err := r.Apply(&f, &c); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
