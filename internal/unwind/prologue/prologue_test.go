package prologue

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/unwind"
)

func unhex(t testing.TB, s string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func words(ws ...uint32) []byte {
	var b []byte
	for _, w := range ws {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// at is the rule expected at one offset; "" means that it must be unknown.
type at struct {
	off     uint64
	kind    Kind
	rule    string
	certain Certainty
}

func check(t *testing.T, f func([]byte, uint64, uint64) (Rule, Verdict), text func(Rule) string, code []byte, want []at) {
	t.Helper()
	const start = 0x401000
	for _, w := range want {
		r, v := f(code, start, start+w.off)
		if w.rule == "" {
			if v.Kind != Unknown || v.Reason == "" || r != (Rule{}) {
				t.Errorf("+%#x: got %v %s, want unknown", w.off, v, text(r))
			}
			continue
		}
		if w.certain == None {
			w.certain = Exact
		}
		if v.Kind != w.kind || text(r) != w.rule || r.Certain != w.certain {
			t.Errorf("+%#x: got %v, %s (%v)\n want %v, %s (%v)", w.off, v, text(r), r.Certain, w.kind, w.rule, w.certain)
		}
	}
}

func amd64Text(r Rule) string { return text(unwind.AMD64, r) }
func arm64Text(r Rule) string { return text(unwind.ARM64, r) }

// text writes all of a rule.
func text(arch unwind.Arch, found Rule) string {
	r := found.Rule(arch)
	text := r.String()
	for _, s := range r.Equations().Saved {
		text += "; " + s.Register + "=" + s.Value
	}
	return text
}

func check64(t *testing.T, code string, want ...at) {
	t.Helper()
	check(t, AMD64, amd64Text, unhex(t, code), want)
}

const (
	leafRule   = "cfa=rsp+8; ra=[cfa-8]; fp=unchanged"
	pushedRule = "cfa=rsp+16; ra=[cfa-8]; fp=[cfa-16]"
	bodyRule   = "cfa=rbp+16; ra=[cfa-8]; fp=[cfa-16]"
)

// TestFramePointerPrologue: R4, at the entry and in the prologue and epilogue rbp is the caller's. Both encodings of
// mov rbp, rsp.
func TestFramePointerPrologue(t *testing.T) {
	for _, mov := range []string{"4889e5", "488bec"} {
		check64(t, "f30f1efa 55 "+mov+" 4883ec20 c9 c3",
			at{off: 0, kind: Prologue, rule: leafRule}, at{off: 4, kind: Prologue, rule: leafRule},
			at{off: 5, kind: Prologue, rule: pushedRule}, at{off: 8, kind: Prologue, rule: bodyRule},
			at{off: 12, kind: Epilogue, rule: bodyRule}, at{off: 13, kind: Epilogue, rule: leafRule})
	}
}

// TestAfterReturn: code after a return has the body's state (a simulator that runs in a straight line loses it).
func TestAfterReturn(t *testing.T) {
	// push rbx; test edi,edi; je L; pop rbx; ret; L: nop; pop rbx; ret
	check64(t, "53 85ff 7402 5b c3 90 5b c3",
		at{off: 5, kind: Epilogue, rule: "cfa=rsp+16; ra=[cfa-8]; fp=unchanged; rbx=[cfa-16]"}, at{off: 6, kind: Epilogue, rule: leafRule},
		at{off: 7, kind: BodyNoFP, rule: "cfa=rsp+16; ra=[cfa-8]; fp=unchanged; rbx=[cfa-16]"}, at{off: 9, kind: Epilogue, rule: leafRule})
}

// TestNoReturnCall: what follows a call that does not return is not reached by its state.
func TestNoReturnCall(t *testing.T) {
	// test edi,edi; je L; push rax; call out (noreturn); L: ret
	check64(t, "85ff 7406 50 e800100000 c3",
		at{off: 5, kind: BodyNoFP, rule: "cfa=rsp+16; ra=[cfa-8]; fp=unchanged"}, at{off: 10, kind: Epilogue, rule: leafRule})
}

// TestRetpolineTail: the return at the end of an indirect jump's retpoline goes to what was put in the place of the
// return address: that the stack is one word lower there says nothing of the calls before.
func TestRetpolineTail(t *testing.T) {
	// sub $8,%rsp; call out; (nop up to 16 bytes) add $8,%rsp; call L; pause; lfence; jmp back; L: mov %rax,(%rsp); ret
	check64(t, "4883ec08 e800100000 0f1f8000000000 4883c408 e807000000 f390 0faee8 ebf9 48890424 c3",
		at{off: 0x10, kind: BodyNoFP, rule: "cfa=rsp+16; ra=[cfa-8]; fp=unchanged"},
		at{off: 0x20, kind: BodyNoFP, rule: "cfa=rsp+16; ra=[cfa-8]; fp=unchanged"})
}

// TestJumpTable: a switch's cases are reached by an indirect jump only.
func TestJumpTable(t *testing.T) {
	// sub rsp,24; cmp edi,3; ja D; jmp [rdi*8+table]; case: call out; D: add rsp,24; ret
	check64(t, "4883ec18 83ff03 770c ff24fd00204000 e800100000 4883c418 c3",
		at{off: 0x10, kind: BodyNoFP, rule: "cfa=rsp+32; ra=[cfa-8]; fp=unchanged", certain: Likely},
		at{off: 0x15, kind: Epilogue, rule: "cfa=rsp+32; ra=[cfa-8]; fp=unchanged"})
	// The case is entered with one word less than the jump leaves: refuted by its return.
	check64(t, "4883ec18 ff24fd00204000 4883c410 c3", at{off: 0xb})
}

// TestBodySettles: a table that says which frame the body has settles the frame of code behind an indirect jump; one
// that says something else does not.
func TestBodySettles(t *testing.T) {
	const code = "4883ec18 83ff03 770c ff24fd00204000 e800100000 4883c418 c3"
	for _, c := range []struct {
		cfa  Expr
		want Certainty
	}{{Expr{Base: RSP, Off: 32}, Exact}, {Expr{Base: RSP, Off: 40}, Likely}, {Expr{}, Likely}} {
		within := func(code []byte, start, pc uint64) (Rule, Verdict) { return AMD64Body(code, start, pc, c.cfa) }
		check(t, within, amd64Text, unhex(t, code), []at{{0x10, BodyNoFP, "cfa=rsp+32; ra=[cfa-8]; fp=unchanged", c.want}})
	}
}

// TestCutOff: a byte of filler behind a call that does not return, which would begin an instruction, does not weaken
// the rules before it.
func TestCutOff(t *testing.T) {
	check64(t, "55 4889e5 e800100000 00", at{off: 0, kind: Prologue, rule: leafRule}, at{off: 4, kind: Body, rule: bodyRule})
	check64(t, "55 4889e5 e800100000 0f0b06", at{off: 4, kind: Body, rule: bodyRule})
}

// TestWritten: what arm64's atomic instructions write, and what they only read; and comparisons, which write nothing.
func TestWritten(t *testing.T) {
	for name, c := range map[string]struct {
		word uint32
		lost []Reg
	}{
		"ldaddal x24, x8, [x8]":         {0xf8f80108, nil},
		"ldadd x8, x24, [x9]":           {0xf8280138, []Reg{24}},
		"swpal x20, x8, [x9]":           {0xf8f48128, nil},
		"ldapr x21, [x9]":               {0xf8bfc135, []Reg{21}},
		"cas x22, x23, [x9]":            {0xc8b67d37, []Reg{22}},
		"casp x20, x21, x22, x23, [x9]": {0x48347d36, []Reg{20, 21}},
		"ldxr x25, [x9]":                {0xc85f7d39, []Reg{25}},
		"ldxp x25, x26, [x9]":           {0xc87f6939, []Reg{25, 26}},
		"stxr w19, x20, [x9]":           {0xc8137d34, []Reg{19}},
		"stlr x20, [x9]":                {0xc89ffd34, nil},
		"ldapur x20, [x9, #8]":          {0xd9408134, []Reg{20}},
		"stlur x20, [x9, #8]":           {0xd9008134, nil},
		"fcmp d0, #0.0":                 {0x1e602008, nil},
		"fccmp d0, d1, #8, ne":          {0x1e611408, nil},
		"fcsel d8, d0, d1, eq":          {0x1e610c08, []Reg{D8}},
	} {
		r, v := ARM64(words(c.word, 0xd503201f), 0, 4)
		var lost []Reg
		for _, s := range r.Saved[:r.N] {
			if s.Loc.Kind == Lost {
				lost = append(lost, s.Reg)
			}
		}
		if v.Kind == Unknown || !slices.Equal(lost, c.lost) {
			t.Errorf("%s: %v, lost %v; want %v", name, v, lost, c.lost)
		}
	}
}

// TestOverwrittenSlot: a return address that the code itself overwrites is not the caller's.
func TestOverwrittenSlot(t *testing.T) {
	check64(t, "48890424 c3", at{off: 0, kind: Prologue, rule: leafRule}, at{off: 4})
}

// TestStackClashLoop: in the probing loop SP moves, and the bound finds the CFA; a disp32 below zero is one, too.
func TestStackClashLoop(t *testing.T) {
	check64(t, "4c8d9c2400c0ffff 4881ec00100000 48830c2400 4c39dc 75ef 4881ec280e0000 31c0 4881c4284e0000 c3",
		at{off: 0x8, kind: Prologue, rule: "cfa=r11+16392; ra=[cfa-8]; fp=unchanged"}, at{off: 0xf, kind: BodyNoFP, rule: "cfa=r11+16392; ra=[cfa-8]; fp=unchanged"},
		at{off: 0x19, kind: BodyNoFP, rule: "cfa=rsp+16392; ra=[cfa-8]; fp=unchanged"}, at{off: 0x22, kind: Epilogue, rule: "cfa=rsp+20016; ra=[cfa-8]; fp=unchanged"})
}

// TestCallNext: a call to the next instruction pushes; its pop is no return.
func TestCallNext(t *testing.T) {
	check64(t, "e800000000 58 c3", at{off: 5, kind: Epilogue, rule: "cfa=rsp+16; ra=[cfa-8]; fp=unchanged"}, at{off: 6, kind: Epilogue, rule: leafRule})
}

// TestRealigned: gcc's dynamic realign argument pointer: the record is at rbp, and the CFA is not rbp+16. Its copy on the
// stack finds the CFA as soon as it is there: calls change r10.
func TestRealigned(t *testing.T) {
	// lea r10,[rsp+8]; and rsp,-64; push [r10-8]; push rbp; mov rbp,rsp; push r10; sub rsp,rax (alloca); mov r10,[rbp-8];
	// leave; lea rsp,[r10-8]; ret
	check64(t, "4c8d542408 4883e4c0 41ff72f8 55 4889e5 4152 4829c4 4c8b55f8 c9 498d62f8 c3",
		at{off: 0x9, kind: Prologue, rule: "cfa=r10; ra=[cfa-8]; fp=unchanged"},
		at{off: 0x13, kind: Prologue, rule: "cfa=[rbp-8]; ra=[cfa-8]; fp=[rbp]"},
		at{off: 0x16, kind: Body, rule: "cfa=[rbp-8]; ra=[cfa-8]; fp=[rbp]"},
		at{off: 0x1f, kind: Epilogue, rule: leafRule})
	// With r10 changed by a call the copy on the stack finds the CFA.
	check64(t, "4c8d542408 4883e4c0 41ff72f8 55 4889e5 4152 e800100000 90",
		at{off: 0x18, kind: Body, rule: "cfa=[rbp-8]; ra=[cfa-8]; fp=[rbp]"})
}

// TestConflict: where paths disagree there is no rule.
func TestConflict(t *testing.T) {
	// test edi,edi; je L; push rax; L: nop; L2: jmp L2
	check64(t, "85ff 7401 50 90 ebfe", at{off: 5})
}

// TestColdPiece: a piece that uses rbp as an address at once is not a function.
func TestColdPiece(t *testing.T) {
	check64(t, "488b7d00 e800100000 90", at{off: 0}, at{off: 4}, at{off: 9})
}

func TestOutside(t *testing.T) {
	check64(t, "55 4889e5 c9 c3", at{off: 6}, at{off: 2}, at{off: 1 << 40})
	if _, v := AMD64(nil, 0, 0); v.Kind != Unknown {
		t.Error("no code, but a rule")
	}
	if _, v := AMD64([]byte{0xc3}, 5, 4); v.Kind != Unknown {
		t.Error("PC below the start, but a rule")
	}
}

// TestUnknownInstructions: adcx and a VEX instruction of an unknown map slot keep the sweep in step.
func TestUnknownInstructions(t *testing.T) {
	check64(t, "55 4889e5 660f38f6c1 c5f877 c9 c3", at{off: 9, kind: Epilogue, rule: bodyRule}, at{off: 0xd, kind: Epilogue, rule: leafRule})
}

func checkARM(t *testing.T, code []byte, want ...at) {
	t.Helper()
	check(t, ARM64, arm64Text, code, want)
}

// TestARM64Frame: R6. paciasp; stp x29,x30,[sp,-32]!; mov x29,sp; str x19,[sp,16]; bl; ldr x19,[sp,16];
// ldp x29,x30,[sp],32; autiasp; ret.
func TestARM64Frame(t *testing.T) {
	code := words(0xd503233f, 0xa9be7bfd, 0x910003fd, 0xf9000bf3, 0x94000400, 0xf9400bf3, 0xa8c27bfd, 0xd50323bf, 0xd65f03c0)
	body := "cfa=x29+32; ra=[cfa-24]; fp=[cfa-32]; x19=[cfa-16]"
	checkARM(t, code,
		at{off: 0, kind: Prologue, rule: "cfa=sp; ra=x30; fp=unchanged"}, at{off: 4, kind: Prologue, rule: "cfa=sp; ra=x30; fp=unchanged"},
		at{off: 8, kind: Prologue, rule: "cfa=sp+32; ra=[cfa-24]; fp=[cfa-32]"}, at{off: 16, kind: Body, rule: body}, at{off: 20, kind: Epilogue, rule: body},
		at{off: 28, kind: Epilogue, rule: "cfa=sp; ra=x30; fp=unchanged"}, at{off: 32, kind: Epilogue, rule: "cfa=sp; ra=x30; fp=unchanged"})
	if r, _ := ARM64(code, 0, 0); r.Signed {
		t.Error("signed before paciasp")
	}
	if r, _ := ARM64(code, 0, 20); !r.Signed {
		t.Error("not signed in the body")
	}
	if r, _ := ARM64(code, 0, 32); r.Signed {
		t.Error("signed after autiasp")
	}
}

// TestARM64Leaf: R6, a leaf's caller is in x30, never in the record. sub sp,sp,#32; str d8,[sp,8]; add sp,sp,#32; ret.
func TestARM64Leaf(t *testing.T) {
	checkARM(t, words(0xd10083ff, 0xfd0007e8, 0x910083ff, 0xd65f03c0),
		at{off: 4, kind: Prologue, rule: "cfa=sp+32; ra=x30; fp=unchanged"}, at{off: 8, kind: Epilogue, rule: "cfa=sp+32; ra=x30; fp=unchanged; d8=[cfa-24]"},
		at{off: 12, kind: Epilogue, rule: "cfa=sp; ra=x30; fp=unchanged"})
}

// TestARM64LargeFrame: mov x12,#0x10010 by movz and movk; sub sp,sp,x12; add sp,sp,x12; ret.
func TestARM64LargeFrame(t *testing.T) {
	checkARM(t, words(0xd280020c, 0xf2a0002c, 0xcb2c63ff, 0x8b2c63ff, 0xd65f03c0),
		at{off: 12, kind: Epilogue, rule: "cfa=sp+65552; ra=x30; fp=unchanged"}, at{off: 16, kind: Epilogue, rule: "cfa=sp; ra=x30; fp=unchanged"})
}

// TestBounded: bytes that make the analysis work hard, within the bounds.
func TestBounded(t *testing.T) {
	// A megabyte of conditional jumps with pushes between them: every target a leader, every join a conflict.
	var code []byte
	for len(code) < maxCode {
		code = append(code, 0x50, 0x0f, 0x84, byte(len(code)), byte(len(code)>>3), 0, 0)
	}
	for _, f := range []func([]byte, uint64, uint64) (Rule, Verdict){AMD64, ARM64} {
		begin := time.Now()
		f(code, 0, 700)
		if d := time.Since(begin); d > 20*time.Second {
			t.Errorf("took %v", d)
		}
	}
}

func fuzzSeeds(f *testing.F) {
	f.Add(unhex(f, "f30f1efa 55 4889e5 4883ec20 c9 c3"), uint32(8))
	f.Add(unhex(f, "4c8d542408 4883e4c0 41ff72f8 55 4889e5 4152 4829c4 4c8b55f8 c9 498d62f8 c3"), uint32(0x13))
	f.Add(unhex(f, "4883ec18 83ff03 770c ff24fd00204000 e800100000 4883c418 c3"), uint32(0x10))
	f.Add(words(0xd503233f, 0xa9be7bfd, 0x910003fd, 0xf9000bf3, 0x94000400, 0xf9400bf3, 0xa8c27bfd, 0xd50323bf, 0xd65f03c0), uint32(20))
}

// FuzzRules: no panic on any bytes; a verdict is a whole rule or a reason; the answer does not depend on the address.
func FuzzRules(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, code []byte, off uint32) {
		for i, fn := range []func([]byte, uint64, uint64) (Rule, Verdict){AMD64, ARM64} {
			r, v := fn(code, 0x400000, 0x400000+uint64(off))
			if r2, v2 := fn(code, ^uint64(0)-1<<24, ^uint64(0)-1<<24+uint64(off)); r != r2 || v != v2 {
				t.Fatalf("%v %v at another address: %v %v", v, r, v2, r2)
			}
			known := v.Kind != Unknown
			if known != (v.Reason == "") || known != (r.Certain != None) || !known && r != (Rule{}) {
				t.Fatalf("%v with %+v", v, r)
			}
			if !known {
				continue
			}
			if int(off) >= len(code) {
				t.Fatal("rule outside the code")
			}
			if r.RA.Kind == Lost || r.RA.Kind == Same {
				t.Fatalf("return address %v", r.RA)
			}
			if i == 0 && bytes.HasPrefix(code, pltFirst) {
				continue // may be entered with a word on the stack
			}
			if off == 0 && r.Certain == Exact && (r.CFA.Off != int64(8-8*i) && r.CFA.Off != 0 || r.FP.Kind != Same && r.FP.Kind != Lost) {
				t.Fatalf("rule at the entry: %+v", r)
			}
			if r.N > MaxSaved {
				t.Fatal("too many registers")
			}
		}
	})
}

// BenchmarkAMD64 and BenchmarkARM64: one rule in a function of 60 instructions with a loop and calls.
func BenchmarkAMD64(b *testing.B) {
	code := unhex(b, "55 4889e5 53 4883ec18 "+strings.Repeat("85ff 7409 e800100000 4801c3 90 ", 10)+" 4883c418 5b 5d c3")
	b.ReportAllocs()
	for b.Loop() {
		if _, v := AMD64(code, 0, 9); v.Kind == Unknown {
			b.Fatal(v)
		}
	}
}

func BenchmarkARM64(b *testing.B) {
	ws := []uint32{0xa9be7bfd, 0x910003fd, 0xf9000bf3}
	for range 10 {
		ws = append(ws, 0x34000080, 0x94000400, 0x8b000273, 0xd503201f)
	}
	code := words(append(ws, 0xf9400bf3, 0xa8c27bfd, 0xd65f03c0)...)
	b.ReportAllocs()
	for b.Loop() {
		if _, v := ARM64(code, 0, 12); v.Kind == Unknown {
			b.Fatal(v)
		}
	}
}
