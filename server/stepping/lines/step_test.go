package lines

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// program is code with lines, as tests write it.
type program struct {
	t         *testing.T
	arch      unwind.Arch
	code      map[uint64]byte
	places    map[uint64]Place
	functions []Function
	heights   map[uint64]uint64
	unknown   bool // heights are
}

// row is a row of the line table with its code.
type row struct {
	at    uint64
	line  int
	code  string // in hexadecimal
	chain []Frame
	plain bool // no statement
}

const text = 0x1000

func newProgram(t *testing.T, arch unwind.Arch, rows ...row) *program {
	p := &program{t: t, arch: arch, code: make(map[uint64]byte), places: make(map[uint64]Place), heights: make(map[uint64]uint64)}
	for _, r := range rows {
		code, err := hex.DecodeString(strings.ReplaceAll(r.code, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		chain := r.chain
		if chain == nil {
			chain = []Frame{{"f", "f.c", r.line}}
		}
		for i, b := range code {
			p.code[r.at+uint64(i)] = b
			p.places[r.at+uint64(i)] = Place{Start: r.at, Statement: !r.plain, Chain: chain}
		}
	}
	p.functions = []Function{{Name: "f", Entry: text, Ranges: []unwind.Range{{Start: text, End: text + 0x100}}, Body: text}}
	return p
}

func (p *program) function(name string, entry, body uint64) {
	p.functions = append(p.functions, Function{Name: name, Entry: entry, Ranges: []unwind.Range{{Start: entry, End: entry + 0x100}}, Body: body})
}

func (p *program) Bytes(addr uint64, n int) (out []byte) {
	for range n {
		b, ok := p.code[addr]
		if !ok {
			break
		}
		out = append(out, b)
		addr++
	}
	return out
}

func (p *program) Place(addr uint64) Place { return p.places[addr] }

func (p *program) Function(addr uint64) (Function, bool) {
	i := slices.IndexFunc(p.functions, func(f Function) bool { return f.contains(addr) })
	if i < 0 {
		return Function{}, false
	}
	return p.functions[i], true
}

func (p *program) Imported(uint64) (Function, bool) { return Function{}, false }

func (p *program) Height(addr uint64) (uint64, bool) { return p.heights[addr] + 0x20, !p.unknown }

// thread is one that stands.
type thread struct {
	regs  unwind.Registers
	words map[uint64]uint64
}

func (p *program) thread(pc, sp uint64) *thread {
	th := &thread{words: make(map[uint64]uint64)}
	th.regs.Set(p.arch.PC(), pc)
	th.regs.Set(p.arch.SP(), sp)
	return th
}

func (th *thread) Register(r unwind.Register) (uint64, bool) { return th.regs.Get(r) }

func (th *thread) Word(addr uint64) (uint64, bool) {
	v, ok := th.words[addr]
	return v, ok
}

const sp = 0x7000

// starts begins a step, which has to await these addresses.
func (p *program) starts(s *Step, th *thread, want ...uint64) {
	p.t.Helper()
	await, err := s.Start(th)
	if err != nil || !slices.Equal(await, want) {
		p.t.Fatalf("it awaits the thread at %#x (%v), want %#x", await, err, want)
	}
}

// arrives has the thread come to an address.
func (p *program) arrives(s *Step, th *thread, ends bool, want ...uint64) {
	p.t.Helper()
	pc, _ := th.regs.PC(p.arch)
	got, await, err := s.Arrive(th)
	if got != ends || err != nil || !slices.Equal(await, want) {
		p.t.Fatalf("at %#x: ends %v, awaits %#x (%v), want %v, %#x", pc, got, await, err, ends, want)
	}
}

// loop is a line with a call, a conditional jump back and one on: 10: call g; jne 0x1000; 11: nop.
func loop(t *testing.T) *program {
	p := newProgram(t, unwind.AMD64,
		row{at: text, line: 10, code: "e8 fb 0f 00 00 75 f9"},
		row{at: text + 7, line: 11, code: "90 90"})
	p.function("g", 0x2000, 0x2004)
	return p
}

// TestOver passes calls and loops of a line; deeper activations do not end it.
func TestOver(t *testing.T) {
	p := loop(t)
	s := New(p.arch, p, Over, 0, 0)
	p.starts(s, p.thread(text, sp), text+7)
	p.arrives(s, p.thread(text+7, sp-0x40), false)
	p.arrives(s, p.thread(text+7, sp), true)
}

// TestTracked tells activations apart where the stack pointer does not: by the calls.
func TestTracked(t *testing.T) {
	p := loop(t)
	p.unknown = true
	s := New(p.arch, p, Over, 0, 0)
	p.starts(s, p.thread(text, sp), text, text+5, text+7) // it stands at the call
	p.arrives(s, p.thread(text+7, sp-0x40), false)        // deeper
	p.arrives(s, p.thread(text+5, sp-0x40), false)        // deeper
	p.arrives(s, p.thread(text+5, sp), false)             // it returns
	p.arrives(s, p.thread(text, sp), false)               // and calls again
	p.arrives(s, p.thread(text+7, sp-0x40), false)
	p.arrives(s, p.thread(text+5, sp), false)
	p.arrives(s, p.thread(text+7, sp-0x10), true) // alloca
}

// TestInto enters the function that has lines, of this activation.
func TestInto(t *testing.T) {
	p := loop(t)
	p.heights[0x2004] = 8 // has pushed a register
	s := New(p.arch, p, Into, 0, 0)
	p.starts(s, p.thread(text, sp), text, text+7, 0x2004)
	p.arrives(s, p.thread(0x2004, sp-0x80), false)
	p.arrives(s, p.thread(0x2004, sp-0x28), true)

	p.functions[1].Body = 0 // without lines
	s = New(p.arch, p, Into, 0, 0)
	p.starts(s, p.thread(text, sp), text+7)
}

// TestOnly enters one of two calls.
func TestOnly(t *testing.T) {
	p := newProgram(t, unwind.AMD64,
		row{at: text, line: 10, code: "e8 fb 0f 00 00 e8 f6 1f 00 00"},
		row{at: text + 10, line: 11, code: "90 90"})
	p.function("g", 0x2000, 0x2000)
	p.function("h", 0x3000, 0x3000)
	p.heights[0x3000] = ^uint64(0x17)
	s := New(p.arch, p, Over, text+5, 0)
	p.starts(s, p.thread(text, sp), text+5, text+10)
	p.arrives(s, p.thread(text+5, sp), false, 0x3000)
	p.arrives(s, p.thread(0x3000, sp-8), true)
	targets, err := Targets(p.arch, p, p.thread(text, sp))
	if err != nil || len(targets) != 2 || targets[0].Name != "g" || targets[1].PC != text+5 {
		t.Errorf("%+v, %v", targets, err)
	}
	targets, _ = Targets(p.arch, p, p.thread(text+5, sp))
	if len(targets) != 1 || targets[0].Name != "h" {
		t.Errorf("behind the first call: %+v", targets)
	}
}

// TestPlaces: where other lines begin, or do not.
func TestPlaces(t *testing.T) {
	inlined := func(line, of int) []Frame { return []Frame{{"in", "f.c", line}, {"f", "f.c", of}} }
	for _, tt := range []struct {
		name string
		mode Mode
		rows []row
		want []uint64
	}{
		{"no line, then no statement", Over, []row{{at: text, line: 10, code: "90"}, {at: text + 1, line: 0, code: "90"}, {at: text + 2, line: 12, code: "90 90", plain: true},
			{at: text + 4, line: 10, code: "90"}, {at: text + 5, line: 11, code: "90"}}, []uint64{text + 5}},
		{"over what is inlined", Over, []row{{at: text, line: 10, code: "90"}, {at: text + 1, code: "90", chain: inlined(50, 10)}, {at: text + 2, line: 10, code: "90"},
			{at: text + 3, line: 11, code: "90"}}, []uint64{text + 3}},
		{"into what is inlined", Into, []row{{at: text, line: 10, code: "90"}, {at: text + 1, code: "90", chain: inlined(50, 10)}, {at: text + 2, line: 11, code: "90"}}, []uint64{text + 1}},
		{"what another line has inlined", Over, []row{{at: text, line: 10, code: "90"}, {at: text + 1, code: "90", chain: inlined(50, 11)}}, []uint64{text + 1}},
		{"in what is inlined", Over, []row{{at: text, code: "90", chain: inlined(50, 10)}, {at: text + 1, code: "90", chain: inlined(51, 10)}}, []uint64{text + 1}},
		{"the same line, inlined again", Over, []row{{at: text, code: "90", chain: inlined(50, 10)}, {at: text + 1, code: "90", chain: inlined(50, 11)}}, []uint64{text + 1}},
		{"out of what is inlined", Beyond, []row{{at: text, code: "90", chain: inlined(50, 10)}, {at: text + 1, code: "90", chain: inlined(51, 10)},
			{at: text + 2, line: 0, code: "90"}, {at: text + 3, line: 10, code: "90"}}, []uint64{text + 3}},
		{"both ways", Over, []row{{at: text, line: 10, code: "74 02 90 c3"}, {at: text + 4, line: 11, code: "90"}}, []uint64{text + 4}},
		{"rep", Over, []row{{at: text, line: 10, code: "f3 a4"}, {at: text + 2, line: 11, code: "f3 c3"}}, []uint64{text + 2}},
	} {
		p := newProgram(t, unwind.AMD64, tt.rows...)
		s := New(p.arch, p, tt.mode, 0, 0)
		if await, err := s.Start(p.thread(text, sp)); err != nil || !slices.Equal(await, tt.want) {
			t.Errorf("%s: %#x (%v), want %#x", tt.name, await, err, tt.want)
		}
	}
}

// TestMiddle: a jump into the middle of another line goes on to the next.
func TestMiddle(t *testing.T) {
	p := newProgram(t, unwind.AMD64,
		row{at: text, line: 10, code: "eb 01"}, row{at: text + 2, line: 11, code: "90 90"}, row{at: text + 4, line: 12, code: "90"})
	s := New(p.arch, p, Over, 0, 0)
	p.starts(s, p.thread(text, sp), text+3)
	p.arrives(s, p.thread(text+3, sp), false, text+4)
	p.arrives(s, p.thread(text+4, sp), true)
}

// TestJumps: by a register, in the function and out of it; a tail jump is passed by a next.
func TestJumps(t *testing.T) {
	p := newProgram(t, unwind.AMD64,
		row{at: text, line: 10, code: "90 ff e0"}, row{at: text + 3, line: 11, code: "90"}, row{at: text + 4, line: 12, code: "90 e9 f6 0f 00 00"})
	p.function("g", 0x2000, 0x2000)
	p.heights[0x2000] = ^uint64(0x17)
	s := New(p.arch, p, Over, 0, 0)
	p.starts(s, p.thread(text, sp), text+1)
	th := p.thread(text+1, sp)
	th.regs.Set(0, text+4)
	p.arrives(s, th, false, text+4)
	p.arrives(s, p.thread(text+4, sp), true)

	s = New(p.arch, p, Over, 0, 0)
	p.starts(s, p.thread(text+4, sp), text+5)
	p.arrives(s, p.thread(text+5, sp), false)
	s = New(p.arch, p, Into, 0, 0)
	p.starts(s, p.thread(text+4, sp), text+5)
	p.arrives(s, p.thread(text+5, sp+0x18), false) // another activation
	p.heights[text+5] = ^uint64(0x17)              // all is popped
	p.arrives(s, p.thread(text+5, sp+0x18), false, 0x2000)
	p.arrives(s, p.thread(0x2000, sp+0x18), true)

	s = New(p.arch, p, Over, 0, 0)
	p.starts(s, p.thread(text, sp), text+1)
	if ends, _, err := s.Arrive(p.thread(text+1, sp)); !ends || err == nil {
		t.Error("a jump to where nobody knows does not end the step")
	}
}

// TestLinkage goes through linkage tables, bound ones and such as are not, and thunks.
func TestLinkage(t *testing.T) {
	p := newProgram(t, unwind.AMD64,
		row{at: text, line: 10, code: "e8 fb 0f 00 00"}, row{at: text + 5, line: 11, code: "90"},
		row{at: 0x2000, code: "f3 0f 1e fa ff 25 f6 0f 00 00"},             // endbr64; jmp *0x3000
		row{at: 0x2020, code: "68 01 00 00 00 e9 16 00 00 00"},             // push 1; jmp 0x2040
		row{at: 0x2040, code: "ff 35 c2 0f 00 00 ff 25 c4 0f 00 00"},       // push *0x3008; jmp *0x3010
		row{at: 0x4000, code: "53 e8 00 01 00 00 5b 48 83 c4 10 41 ff e3"}, // the dynamic linker's: jmp *r11
		row{at: 0x5000, code: "48 83 ef 10 e9 f7 0f 00 00"})                // sub $16, rdi; jmp 0x6000
	p.function("g", 0x6000, 0x6000)
	p.heights[0x6000] = ^uint64(0x17)
	at := func() *thread {
		th := p.thread(text, sp)
		th.words[0x3000], th.words[0x3010] = 0x2020, 0x4000
		return th
	}
	s := New(p.arch, p, Into, 0, 0)
	p.starts(s, at(), text, text+5, 0x400b)
	th := p.thread(0x400b, sp-8)
	th.regs.Set(11, 0x5000)
	p.arrives(s, th, false, 0x6000)
	p.arrives(s, p.thread(0x6000, sp-8), true)

	bound := at()
	bound.words[0x3000] = 0x5000
	s = New(p.arch, p, Into, 0, 0)
	p.starts(s, bound, text, text+5, 0x6000)
}

// TestOperands evaluates what calls and jumps read.
func TestOperands(t *testing.T) {
	for _, tt := range []struct {
		arch unwind.Arch
		code string
		want uint64
	}{
		{unwind.AMD64, "ff d0", 0x100},           // call *rax
		{unwind.AMD64, "41 ff d7", 0x10f},        // call *r15
		{unwind.AMD64, "ff d1", 0x102},           // call *rcx
		{unwind.AMD64, "ff 50 18", 0x9018},       // call *0x18(rax)
		{unwind.AMD64, "ff 24 c8", 0x9110},       // jmp *(rax,rcx,8): 0x100 + 8*0x102
		{unwind.AMD64, "ff 15 10 00 00 00", 0x9}, // call *0x10(rip)
		{unwind.AMD64, "3e ff e0", 0x100},        // notrack jmp *rax
		{unwind.AMD64, "f2 ff e0", 0x100},        // bnd jmp *rax
		{unwind.ARM64, "00 01 3f d6", 0x108},     // blr x8
		{unwind.ARM64, "20 02 1f d6", 0x111},     // br x17
		{unwind.ARM64, "00 09 3f d7", 0x108},     // blraa x8, x0
		{unwind.AMD64, "e8 00 00 00 00", 0},
		{unwind.ARM64, "1f 20 03 d5", 0},
	} {
		p := newProgram(t, tt.arch)
		th := p.thread(text, sp)
		for r := range unwind.Register(31) {
			th.regs.Set(r, 0x100+uint64(r))
		}
		if tt.arch == unwind.AMD64 {
			th.words = map[uint64]uint64{0x118: 0x9018, 0x100 + 8*0x102: 0x9110, text + 6 + 0x10: 0x9}
		}
		code, _ := hex.DecodeString(strings.ReplaceAll(tt.code, " ", ""))
		w := walker{arch: tt.arch, code: p}
		if got, ok := w.leadsTo(code, text, th); got != tt.want || ok != (tt.want != 0) {
			t.Errorf("%s: %#x %v, want %#x", tt.code, got, ok, tt.want)
		}
	}
}

// TestARM64: branches of each kind, and a linkage table.
func TestARM64(t *testing.T) {
	p := newProgram(t, unwind.ARM64,
		row{at: text, line: 10, code: "3f2303d5 00040094 80000036 60000034 c0035fd6"}, // paciasp; bl 0x2004; tbz w0, #0, 0x1018; cbz w0, 0x1018; ret
		row{at: text + 0x18, line: 11, code: "1f2003d5 f9030014"},                     // nop; b 0x2000
		row{at: 0x2004, code: "10000090 110240f9 10020091 20021fd6"})                  // adrp x16, 0x2000; ldr x17, [x16]; add x16, x16, #0; br x17
	p.function("g", 0x3000, 0x3008)
	p.heights[0x3008] = ^uint64(0x0f)
	th := p.thread(text, sp)
	th.words[0x2000] = 0x3000
	s := New(p.arch, p, Into, 0, 0)
	p.starts(s, th, text+4, text+0x18)
	th.regs.Set(unwind.ARM64PC, text+4)
	p.arrives(s, th, false, 0x3008)
	p.arrives(s, p.thread(0x3008, sp-0x10), true)
}

// TestLost: code that is not there is an error, not a step that never ends.
func TestLost(t *testing.T) {
	p := newProgram(t, unwind.AMD64, row{at: text, line: 10, code: "90"})
	if _, err := New(p.arch, p, Over, 0, 0).Start(p.thread(text, sp)); err == nil {
		t.Error("no error")
	}
	if _, err := New(p.arch, p, Over, 0, 0).Start(p.thread(0x9000, sp)); err == nil {
		t.Error("no function, no error")
	}
}

// TestLoads finds the words that code reads at fixed addresses.
func TestLoads(t *testing.T) {
	for _, tt := range []struct {
		arch unwind.Arch
		code string
		want []uint64
	}{
		{unwind.AMD64, "90 48 8b 05 10 00 00 00 48 8b 43 08", []uint64{text + 8 + 0x10}}, // nop; mov 0x10(rip), rax; mov 8(rbx), rax
		{unwind.ARM64, "1b0000b0 600b40f9 600b40f9", []uint64{0x2010, 0x2010}},           // adrp x27, 0x2000; ldr x0, [x27, #16], twice
		{unwind.ARM64, "1b0000b0 7b430091 600340f9 000440f9", []uint64{0x2010}},          // adrp; add x27, x27, #16; ldr x0, [x27]; ldr x0, [x0, #8]
	} {
		code, _ := hex.DecodeString(strings.ReplaceAll(tt.code, " ", ""))
		if got := Loads(tt.arch, code, text); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %#x, want %#x", tt.code, got, tt.want)
		}
	}
}

// TestEntries: what a wrapper calls, jumps on to, and has inlined.
func TestEntries(t *testing.T) {
	p := newProgram(t, unwind.AMD64,
		row{at: text, line: 0, code: "e8 fb 0f 00 00"}, row{at: text + 5, code: "90", chain: []Frame{{"in", "f.c", 7}, {"wrapper", "glue", 80}}},
		row{at: text + 6, line: 0, code: "74 01 c3 e9 f2 1f 00 00"}) // je; ret; jmp 0x3000
	p.function("g", 0x2000, 0x2004)
	p.function("h", 0x3000, 0x3008)
	got := Entries(p.arch, p, text, func(uint64) (uint64, bool) { return 0, false })
	if want := []uint64{text + 5, 0x2004}; !slices.Equal(got, want) {
		t.Errorf("%#x, want %#x", got, want)
	}
	got = Entries(p.arch, p, text+6, func(uint64) (uint64, bool) { return 0, false })
	if want := []uint64{0x3008}; !slices.Equal(got, want) {
		t.Errorf("%#x, want %#x", got, want)
	}
}
