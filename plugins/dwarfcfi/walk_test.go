package dwarfcfi

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/cfi"
	"github.com/clewdbg/clew/internal/unwind/cfi/cfitest"
	"github.com/clewdbg/clew/internal/unwind/tablewalk/walktest"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

const inFirst = codeBase + 0x50

// outermost ends every stack: function 1 of most programs here.
var outermost = undefined(16)

// TestR9ReturnAtNextFunction: a call that never returns may be the last
// instruction of its function. The return address is the next function's first
// byte, and the rules are those of the function before.
func TestR9ReturnAtNextFunction(t *testing.T) {
	p := with(t, unwind.AMD64, 0, program(unwind.AMD64, defOffset(32), defOffset(64), outermost))
	s := stackasm.New(unwind.AMD64, stackBase).Mark("sp").Pad(24).Word(function(2) + 8).Pad(24).Word(function(2) + 9).Pad(64)
	regs := stackasm.Values{"rip": num(function(1)), "rsp": at("sp")}
	r := walktest.Wants(t, p, walktest.Request(t, unwind.AMD64, unwind.KindReturn, s, regs), []uint64{function(2) + 8}, unwind.StopEnd, "undefined")
	if len(r.Steps) == 1 && r.Steps[0].Rule != "cfa=rsp+32; ra=[cfa-8]; fp=unchanged" {
		t.Errorf("rule %q", r.Steps[0].Rule)
	}
	// The same address of an instruction is the next function's.
	walktest.Wants(t, p, walktest.Request(t, unwind.AMD64, unwind.KindInstruction, s, regs), []uint64{function(2) + 9}, unwind.StopEnd, "undefined")
}

// signalStack is the stack of a handler in function 0 that returns to the
// trampoline at pc, above it the context with the registers of function 2.
func signalStack(pc uint64) *stackasm.Stack {
	return stackasm.New(unwind.AMD64, stackBase).Mark("sp").Pad(24).Word(pc).
		Mark("frame").Pad(0x20).Word(function(2)).Ref("interrupted").Word(0xb0b, 0xa0a).Pad(256). // rip, rsp, rbp, rax
		Mark("interrupted").Pad(56).Word(function(3) + 9).Pad(64)
}

// trampoline is what C libraries say of their signal trampolines: everything is
// in the context above the stack pointer.
func trampoline() []byte {
	expr := func(off byte) []byte { return []byte{2, 0x77, off} }
	return join([]byte{'S', 0x0f, 3, 0x77, 0x28, 0x06}, // CFA is the interrupted SP
		[]byte{0x10, 16}, expr(0x20), []byte{0x10, 7}, expr(0x28), []byte{0x10, 6}, expr(0x30), []byte{0x10, 0}, expr(0x38))
}

// TestR9SignalFrame: the caller of a trampoline was interrupted, here at its
// function's first instruction, and holds what the context says.
func TestR9SignalFrame(t *testing.T) {
	p := with(t, unwind.AMD64, 0, program(unwind.AMD64, defOffset(32), trampoline(), defOffset(64), outermost))
	for name, pc := range map[string]uint64{
		"behind a byte of its own": function(1) + 1, // glibc's FDE begins one byte before
		"at its start":             function(1),     // the byte before is another function's
	} {
		t.Run(name, func(t *testing.T) {
			s := signalStack(pc)
			r := walktest.Wants(t, p, walktest.Request(t, unwind.AMD64, unwind.KindReturn, s, stackasm.Values{"rip": num(inFirst), "rsp": at("sp"), "rbx": num(7)}),
				[]uint64{pc, function(2), function(3) + 9}, unwind.StopEnd, "undefined")
			if len(r.Steps) != 3 {
				t.FailNow()
			}
			c := &r.Steps[1].Caller
			rax, _ := c.Get(0)
			rbp, _ := c.FP(unwind.AMD64)
			if r.Steps[1].CallerKind != unwind.KindInstruction || rax != 0xa0a || rbp != 0xb0b {
				t.Errorf("%v, rax %#x, rbp %#x", r.Steps[1].CallerKind, rax, rbp)
			}
			if r.Steps[0].CallerKind != unwind.KindReturn || r.Steps[2].CallerKind != unwind.KindReturn {
				t.Errorf("kinds %v, %v", r.Steps[0].CallerKind, r.Steps[2].CallerKind)
			}
			if !strings.HasPrefix(r.Steps[1].Rule, "cfa=expr:rsp+40,deref; ra=[expr:rsp+32]; fp=[expr:rsp+48]") {
				t.Errorf("rule %q", r.Steps[1].Rule)
			}
		})
	}
}

// TestSignalOnAnotherStack: the handler has a stack of its own. The step is
// made, and the host takes over with the other stack's memory (R14).
func TestSignalOnAnotherStack(t *testing.T) {
	p := with(t, unwind.AMD64, 0, program(unwind.AMD64, defOffset(32), trampoline(), defOffset(64), outermost))
	for name, sp := range map[string]uint64{"above": stackBase + 1<<20, "below": stackBase - 1<<20} {
		s := stackasm.New(unwind.AMD64, stackBase).Mark("sp").Pad(24).Word(function(1)+1).Pad(0x20).Word(function(2), sp, 0xb0b, 0xa0a).Pad(64)
		r := walktest.Wants(t, p, walktest.Request(t, unwind.AMD64, unwind.KindReturn, s, stackasm.Values{"rip": num(inFirst), "rsp": at("sp")}),
			[]uint64{function(1) + 1, function(2)}, unwind.StopNoRule, "another stack")
		if len(r.Steps) == 2 && r.Steps[1].CFA != sp {
			t.Errorf("%s: CFA %#x", name, r.Steps[1].CFA)
		}
	}
}

// TestR10Leaf: an arm64 leaf keeps its return address in x30 and its caller's
// SP. No one above it may.
func TestR10Leaf(t *testing.T) {
	p := with(t, unwind.ARM64, 0, program(unwind.ARM64, nil, join(defOffset(32), saved(30, 1)), undefined(30)))
	s := stackasm.New(unwind.ARM64, stackBase).Mark("sp").Pad(24).Word(function(2) + 8).Pad(64)
	regs := stackasm.Values{"pc": num(inFirst), "sp": at("sp"), "x30": num(function(1) + 8)}
	r := walktest.Wants(t, p, walktest.Request(t, unwind.ARM64, unwind.KindInstruction, s, regs), []uint64{function(1) + 8, function(2) + 8}, unwind.StopEnd, "undefined")
	for i := range r.Steps {
		if lr, ok := r.Steps[i].Caller.Get(unwind.ARM64LR); ok {
			t.Errorf("step %d: x30 is %#x", i, lr)
		}
	}
	walktest.Wants(t, p, walktest.Request(t, unwind.ARM64, unwind.KindReturn, s, regs), nil, unwind.StopBroken, "R10")
	regs["x30"] = num(inFirst)
	walktest.Wants(t, p, walktest.Request(t, unwind.ARM64, unwind.KindInstruction, s, regs), nil, unwind.StopBroken, "not above")
}

// TestSynchronousTables: clang's tables for arm64 have no epilogue. The step
// from between calls has a note and the trust of a scanned frame; the step from
// a call, or from the function's first instruction, and that by tables with an
// epilogue, have not.
func TestSynchronousTables(t *testing.T) {
	opened := join(advance(0x20), defOffset(32), saved(30, 1))
	p := with(t, unwind.ARM64, 0, program(unwind.ARM64, opened, join(opened, advance(0x3f), advance(0x3f), []byte{0xde}, defOffset(0)), undefined(30)))
	for _, tt := range []struct {
		pc    uint64
		kind  unwind.PCKind
		trust unwind.Trust
	}{
		{function(0) + 0x50, unwind.KindInstruction, unwind.TrustScan},
		{function(0) + 0x10, unwind.KindInstruction, unwind.TrustScan},
		{function(0), unwind.KindInstruction, unwind.TrustCFI},
		{function(0) + 0x50, unwind.KindReturn, unwind.TrustCFI},
		{function(1) + 0x50, unwind.KindInstruction, unwind.TrustCFI},
	} {
		s := stackasm.New(unwind.ARM64, stackBase).Mark("sp").Pad(24).Word(function(2) + 8).Pad(64)
		r := walktest.Wants(t, p, walktest.Request(t, unwind.ARM64, tt.kind, s, stackasm.Values{"pc": num(tt.pc), "sp": at("sp"), "x30": num(function(2) + 8)}),
			[]uint64{function(2) + 8}, unwind.StopEnd, "undefined")
		if len(r.Steps) != 1 || r.Steps[0].Trust != tt.trust || (r.Steps[0].Note == "") != (tt.trust == unwind.TrustCFI) {
			t.Errorf("%#x %v: %+v", tt.pc, tt.kind, r.Steps)
		}
	}
}

// TestSettledByCode: where an innermost frame stopped between two calls of a
// function whose tables are right at calls only, the function's code decides.
func TestSettledByCode(t *testing.T) {
	opened := join(advance(0x0c), defOffset(32), saved(29, 4), saved(30, 3), saved(19, 2))
	p := with(t, unwind.ARM64, 0, program(unwind.ARM64, opened, undefined(30), undefined(30)))
	instructions := []uint32{
		0xa9be7bfd, // stp x29, x30, [sp, #-32]!
		0xf9000bf3, // str x19, [sp, #16]
		0x910003fd, // mov x29, sp
		0x94000100, // bl: whose tables are right
		0xd503201f, // nop
		0xf9400bf3, // ldr x19, [sp, #16]
		0xa8c27bfd, // ldp x29, x30, [sp], #32
		0xd65f03c0, // ret
	}
	var code []byte
	for _, w := range instructions {
		code = binary.LittleEndian.AppendUint32(code, w)
	}
	whole := &unwind.FunctionCode{Start: function(0), Exact: true, Code: code}
	const fp, x19, ra, below = 0x1111, 0x2222, codeBase + funcSize + 8, codeBase + 2*funcSize + 8
	for _, tt := range []struct {
		name  string
		at    int // the instruction
		code  *unwind.FunctionCode
		trust unwind.Trust
		note  string
		ra    uint64
	}{
		{"prologue", 1, whole, unwind.TrustFramePointer, noteCode, ra},
		{"body", 4, whole, unwind.TrustCFI, "", ra},
		{"epilogue, before the frame goes", 6, whole, unwind.TrustCFI, "", ra},
		{"at the return", 7, whole, unwind.TrustFramePointer, noteCode, below},
		{"no code", 4, nil, unwind.TrustScan, doubtSynchronous, ra},
		{"too little code", 4, &unwind.FunctionCode{Start: function(0), Exact: true, Code: code[:16]}, unwind.TrustScan, doubtSynchronous, ra},
		{"a start that is only near", 4, &unwind.FunctionCode{Start: function(0), Code: code}, unwind.TrustScan, doubtSynchronous, ra},
		{"another function's", 4, &unwind.FunctionCode{Start: function(0) - 4, Exact: true, Code: append([]byte{0x1f, 0x20, 0x03, 0xd5}, code...)}, unwind.TrustScan, doubtSynchronous, ra},
		{"code that cannot be decoded", 4, &unwind.FunctionCode{Start: function(0), Exact: true, Code: make([]byte, len(code))}, unwind.TrustScan, doubtSynchronous, ra},
	} {
		s := stackasm.New(unwind.ARM64, stackBase).Mark("sp").Word(fp, ra, x19).Pad(64)
		regs := stackasm.Values{"pc": num(function(0) + 4*uint64(tt.at)), "sp": at("sp"), "x29": at("sp"), "x30": num(below), "x19": num(x19)}
		r := walktest.Request(t, unwind.ARM64, unwind.KindInstruction, s, regs)
		r.Function = tt.code
		got := walktest.Wants(t, p, r, []uint64{tt.ra}, unwind.StopEnd, "undefined").Steps[0]
		if got.Trust != tt.trust || got.Note != tt.note {
			t.Errorf("%s: trust %v, note %q; want %v, %q", tt.name, got.Trust, got.Note, tt.trust, tt.note)
		}
		if v, ok := got.Caller.Get(19); !ok || v != x19 {
			t.Errorf("%s: x19 is %#x (%v)", tt.name, v, ok)
		}
	}
}

// TestR11PAC: a signed return address loses its code, and nothing else does.
func TestR11PAC(t *testing.T) {
	const mask, code = 0x007f_0000_0000_0000, 0x0035_0000_0000_0000
	p := with(t, unwind.ARM64, mask, program(unwind.ARM64, join([]byte{0x2d}, defOffset(32), saved(30, 1), saved(19, 2)), undefined(30)))
	s := stackasm.New(unwind.ARM64, stackBase).Mark("sp").Pad(16).Word(code|9, function(1)+8|code).Pad(64)
	r := walktest.Wants(t, p, walktest.Request(t, unwind.ARM64, unwind.KindReturn, s, stackasm.Values{"pc": num(inFirst), "sp": at("sp")}),
		[]uint64{function(1) + 8}, unwind.StopEnd, "undefined")
	if x19, _ := r.Steps[0].Caller.Get(19); x19 != code|9 {
		t.Errorf("x19 %#x", x19)
	}
}

// TestJudged: impossible results of rules end the walk, with the reason.
func TestJudged(t *testing.T) {
	tests := []struct {
		name    string
		program []byte
		ra      uint64
		stop    unwind.WalkStop
		reason  string
	}{
		{"R8: return address 0", defOffset(32), 0, unwind.StopEnd, "below 4096"},
		{"R8: return address 4095", defOffset(32), 4095, unwind.StopEnd, "below 4096"},
		{"R4: not canonical", defOffset(32), 0x8000_0000_0000, unwind.StopBroken, "is no address"},
		{"R3: SP does not increase", defOffset(0), inFirst, unwind.StopBroken, "not above"},
		{"R3: SP below", []byte{0x13, 1}, inFirst, unwind.StopBroken, "not above"},
		{"R3: outside the segment", join(defCFA(3, 0), []byte{0x09, 16, 0}), inFirst, unwind.StopBroken, "outside the stack segment"},
		{"R3: unaligned", defOffset(20), inFirst, unwind.StopBroken, "no multiple of 8"},
		{"unknown register", defCFA(12, 0), inFirst, unwind.StopNoRule, "the CFA needs r12"},
		{"endless expression", []byte{0x0f, 3, 0x2f, 0xfd, 0xff}, inFirst, unwind.StopBroken, ".eh_frame+"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := with(t, unwind.AMD64, 0, program(unwind.AMD64, tt.program, outermost))
			s := stackasm.New(unwind.AMD64, stackBase).Word(tt.ra, tt.ra).Mark("sp").Word(tt.ra, tt.ra, tt.ra, tt.ra).Pad(100)
			walktest.Wants(t, p, walktest.Request(t, unwind.AMD64, unwind.KindInstruction, s,
				stackasm.Values{"rip": num(inFirst), "rsp": at("sp"), "rbx": num(stackBase + 1<<30), "rax": num(function(1) + 8)}), nil, tt.stop, tt.reason)
		})
	}
}

// TestNotBroken: a frame without what it takes to begin with.
func TestNotBroken(t *testing.T) {
	p := with(t, unwind.AMD64, 0, program(unwind.AMD64, defOffset(16)))
	s := stackasm.New(unwind.AMD64, stackBase).Mark("sp").Pad(64)
	walktest.Wants(t, p, walktest.Request(t, unwind.AMD64, unwind.KindInstruction, s, stackasm.Values{"rsp": at("sp")}), nil, unwind.StopNoRule, "program counter")
	walktest.Wants(t, p, walktest.Request(t, unwind.AMD64, unwind.KindInstruction, s, stackasm.Values{"rip": num(0x1234), "rsp": at("sp")}), nil, unwind.StopNoRule, "no DWARF rules")
	walktest.Wants(t, p, walktest.Request(t, unwind.AMD64, unwind.KindReturn, s, stackasm.Values{"rip": num(5), "rsp": at("sp")}), nil, unwind.StopEnd, "below 4096")
	r := walktest.Request(t, unwind.AMD64, unwind.KindInstruction, s, stackasm.Values{"rip": num(inFirst), "rsp": at("sp")})
	r.MaxFrames = 0
	walktest.Wants(t, p, r, nil, unwind.StopLimit, "")
}

// goImage is an image as Go's linker makes it: .debug_frame only, one function
// with a frame of 48 bytes behind its first byte, and C's outermost one.
func goImage(arch unwind.Arch) unwind.Image {
	b := cfitest.Builder{Kind: cfi.DebugFrame}
	cie := cfitest.CIE{Version: 3, DataAlign: -4, RA: 16, Code: []byte{0x0c, 7, 8, 0x05, 16, 2}}
	opened := []byte{0x41, 0x0e, 64}
	if arch == unwind.ARM64 {
		cie.RA, cie.Code = 30, []byte{0x0c, 31, 0, 0x08, 30, 0x14, 31, 0}
		opened = []byte{0x44, 0x0e, 64, 0x9e, 16}
	}
	at := b.CIE(cie)
	b.FDE(at, b.Quad(function(0)), b.Quad(funcSize), opened)
	b.FDE(at, b.Quad(function(1)), b.Quad(funcSize), []byte{0x07, cie.RA})
	return unwind.Image{ID: 1, Base: 0, Sections: []unwind.Section{{Name: ".debug_frame", Data: b.Bytes()}}}
}

// TestGoFrame: Go's tables tell nothing of the frame pointer, which a function
// with a frame saves, and of other registers, which none keeps.
func TestGoFrame(t *testing.T) {
	amd, arm := unwind.AMD64, unwind.ARM64
	tests := []struct {
		name   string
		arch   unwind.Arch
		at     uint64
		regs   stackasm.Values
		stack  *stackasm.Stack
		fp     uint64
		known  bool
		rule   string
		saved  string
		number unwind.Register
	}{
		{"at the entry", amd, function(0), stackasm.Values{"rip": num(function(0)), "rsp": at("ra"), "rbp": num(0x77), "rbx": num(1)},
			stackasm.New(amd, stackBase).Mark("ra").Word(function(1) + 8).Pad(64), 0x77, true, "fp=unchanged", "rbx", 3},
		{"opened", amd, inFirst, stackasm.Values{"rip": num(inFirst), "rsp": at("sp"), "rbp": at("fp"), "rbx": num(1)},
			stackasm.New(amd, stackBase).Mark("sp").Pad(48).Mark("fp").Word(0x1234, function(1)+8).Pad(64), 0x1234, true, "fp=[cfa-16]", "rbx", 3},
		{"rbp used otherwise", amd, inFirst, stackasm.Values{"rip": num(inFirst), "rsp": at("sp"), "rbp": num(5)},
			stackasm.New(amd, stackBase).Mark("sp").Pad(48).Mark("fp").Word(0x1234, function(1)+8).Pad(64), 0, false, "fp=[cfa-16]", "rbx", 3},
		{"arm64, R12", arm, inFirst, stackasm.Values{"pc": num(inFirst), "sp": at("sp"), "x29": at("fp"), "x19": num(1)},
			stackasm.New(arm, stackBase).Pad(8).Mark("fp").Word(0x1234).Mark("sp").Word(function(1) + 8).Pad(120), 0x1234, true, "fp=[sp-8]", "x19", 19},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := with(t, tt.arch, 0, goImage(tt.arch))
			r := walktest.Wants(t, p, walktest.Request(t, tt.arch, unwind.KindInstruction, tt.stack, tt.regs), []uint64{function(1) + 8}, unwind.StopEnd, "undefined")
			if len(r.Steps) != 1 {
				t.FailNow()
			}
			fp, ok := r.Steps[0].Caller.FP(tt.arch)
			if ok != tt.known || fp != tt.fp || !strings.HasSuffix(r.Steps[0].Rule, tt.rule) {
				t.Errorf("frame pointer %#x (%v), rule %q; want %#x (%v), %q", fp, ok, r.Steps[0].Rule, tt.fp, tt.known, tt.rule)
			}
			if v, ok := r.Steps[0].Caller.Get(tt.number); ok {
				t.Errorf("%s is said to be %#x", tt.saved, v)
			}
		})
	}
}

// FuzzWalk walks random stacks by random tables.
func FuzzWalk(f *testing.F) {
	seed := func(arch unwind.Arch, flags uint8) {
		image, r, _ := deep(f, arch, 5)
		sp, _ := r.Registers.SP(arch)
		f.Add(image.Sections[0].Data, r.Stack[0].Data, uint64(inFirst), sp, sp+64, flags)
	}
	seed(unwind.AMD64, 0)
	seed(unwind.ARM64, 1)
	s, err := signalStack(function(1) + 1).Assemble()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(program(unwind.AMD64, defOffset(32), trampoline(), defOffset(64), outermost).Sections[0].Data, s.Data, uint64(inFirst), uint64(stackBase), uint64(0), uint8(2))
	f.Fuzz(func(t *testing.T, table, stack []byte, pc, sp, fp uint64, flags uint8) {
		if len(table) > 1<<14 {
			return
		}
		arch := []unwind.Arch{unwind.AMD64, unwind.ARM64}[flags&1]
		p := New()
		name := []string{sectionEH, sectionDebug, sectionSegment, sectionEH}[flags>>4&3]
		delta := unwind.ImageDelta{Arch: arch, PACMask: fp &^ (1 << 55), Added: []unwind.Image{
			{ID: 1, Sections: []unwind.Section{{Name: name, Addr: tableBase, Data: table}}}}}
		reports, err := p.Update(context.Background(), delta)
		if err != nil {
			t.Fatal(err)
		}
		r := unwind.WalkRequest{Arch: arch, Kind: unwind.PCKind(flags >> 1 & 1), MaxFrames: 64, AllRegisters: flags&4 != 0,
			Stack: unwind.Windows{{Addr: stackBase, Data: stack}}}
		if flags&8 != 0 {
			r.Segment = unwind.Segment{Low: stackBase, High: stackBase + uint64(len(stack))}
		}
		for reg := range unwind.Register(33) {
			r.Registers.Set(reg, fp+uint64(reg))
		}
		r.Registers.Set(arch.PC(), pc)
		r.Registers.Set(arch.SP(), sp)
		r.Registers.Set(arch.FP(), fp)
		results, err := p.Walk(context.Background(), []unwind.WalkRequest{r})
		if err != nil {
			t.Fatal(err)
		}
		kind := r.Kind
		for i, step := range results[0].Steps {
			now, ok := step.Caller.SP(arch)
			_, ok2 := step.Caller.PC(arch)
			leaf := kind == unwind.KindInstruction && arch == unwind.ARM64
			if !ok || !ok2 || step.Trust == unwind.TrustNone || !strings.HasPrefix(step.Rule, "cfa=") {
				t.Fatalf("step %d: %+v", i, step)
			}
			if step.CallerKind == unwind.KindReturn && (now < sp || now == sp && !leaf) {
				t.Fatalf("step %d: SP %#x after %#x", i, now, sp)
			}
			if i == 0 && !reports[0].Coverage.Contains(uint64(unwind.Code(pc, kind).Lookup(arch))) && !reports[0].Coverage.Contains(pc) {
				t.Fatalf("step from %#x, which %#x does not cover", pc, reports[0].Coverage)
			}
			sp, kind = now, step.CallerKind
		}
	})
}

// TestMachOTables: tables of a Mach-O image are right at calls only, whatever they
// say: here they do not tell of the epilogue.
func TestMachOTables(t *testing.T) {
	image := program(unwind.AMD64, join(advance(1), defOffset(16), saved(3, 2)), undefined(16), undefined(16))
	for i := range image.Sections {
		if image.Sections[i].Name == sectionEH {
			image.Sections[i].Name = sectionMachO
		}
	}
	p := with(t, unwind.AMD64, 0, image)
	code := []byte{0x53, 0xe8, 0, 0x10, 0, 0, 0x5b, 0xc3} // push rbx; call; pop rbx; ret
	whole := &unwind.FunctionCode{Start: function(0), Exact: true, Code: code}
	const rbx, ra, below = 0x2222, codeBase + funcSize + 8, codeBase + 2*funcSize + 8
	for _, tt := range []struct {
		name  string
		at    uint64
		kind  unwind.PCKind
		code  *unwind.FunctionCode
		words []uint64 // the stack
		trust unwind.Trust
	}{
		{"entry", 0, unwind.KindInstruction, nil, []uint64{ra, below}, unwind.TrustCFI},
		{"body", 1, unwind.KindInstruction, whole, []uint64{rbx, ra}, unwind.TrustCFI},
		{"a caller", 6, unwind.KindReturn, nil, []uint64{rbx, ra}, unwind.TrustCFI},
		{"at the return", 7, unwind.KindInstruction, whole, []uint64{ra, below}, unwind.TrustFramePointer},
		{"no code", 6, unwind.KindInstruction, nil, []uint64{rbx, ra}, unwind.TrustScan},
	} {
		s := stackasm.New(unwind.AMD64, stackBase).Mark("sp").Word(tt.words...).Pad(64)
		r := walktest.Request(t, unwind.AMD64, tt.kind, s, stackasm.Values{"rip": num(function(0) + tt.at), "rsp": at("sp"), "rbx": num(rbx)})
		r.Function = tt.code
		got := walktest.Wants(t, p, r, []uint64{ra}, unwind.StopEnd, "undefined").Steps[0]
		if v, ok := got.Caller.Get(unwind.AMD64RBX); got.Trust != tt.trust || !ok || v != rbx {
			t.Errorf("%s: trust %v, rbx %#x, %v; want %v", tt.name, got.Trust, v, ok, tt.trust)
		}
	}
}
