package assembler

import (
	"context"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// library is code with a model, loaded where it says; pieces are where its functions
// begin.
type library struct {
	code
	addr   uint64
	bytes  []byte
	pieces []uint64
	model  *codemodel.Image
}

func (l *library) Bytes(addr uint64, n int) []byte {
	if addr < l.addr || addr-l.addr >= uint64(len(l.bytes)) {
		return l.code.Bytes(addr, n)
	}
	out := l.bytes[addr-l.addr:]
	return out[:min(n, len(out))]
}

func (l *library) Function(at unwind.LookupAddr) (Function, bool) {
	if p, ok := l.Bounds(uint64(at)); ok {
		return Function{Name: "function", Start: p.Start, End: p.End, Exact: true}, true
	}
	return l.code.Function(at)
}

func (l *library) Model(at unwind.LookupAddr) (*codemodel.Image, uint64) {
	if _, ok := l.Bounds(uint64(at)); !ok {
		return nil, 0
	}
	return l.model, 0
}

// Contents of the model.
func (l *library) Code(addr uint64, n int) []byte { return l.Bytes(addr, n) }
func (l *library) Data(uint64, int) []byte        { return nil }
func (l *library) Slot(uint64) (uint64, string)   { return 0, "" }
func (l *library) Bounds(addr uint64) (codemodel.Piece, bool) {
	for i, start := range l.pieces {
		end := l.addr + uint64(len(l.bytes))
		if i+1 < len(l.pieces) {
			end = l.pieces[i+1]
		}
		if addr >= start && addr < end {
			return codemodel.Piece{Start: start, End: end}, true
		}
	}
	return codemodel.Piece{}, false
}

// plain hides the model.
type plain struct{ CodeMap }

func (plain) Model(unwind.LookupAddr) (*codemodel.Image, uint64) { return nil, 0 }

// TestModelLeavesFrames: where no strategy knows a caller, the model of the code does. Its end is a jump to somewhere,
// which shows nothing by itself.
func TestModelLeavesFrames(t *testing.T) {
	const start = 0x40b000
	l := &library{code: synthetic, addr: start, pieces: []uint64{start},
		bytes: []byte{0x53, 0x48, 0x83, 0xec, 0x10, 0x90, 0x48, 0x83, 0xc4, 0x10, 0x5b, 0xff, 0xe0}} // push %rbx; sub $16,%rsp; nop; ...
	l.model = codemodel.New(unwind.AMD64, l)
	m, err := stackasm.New(unwind.AMD64, sp0).Pad(16).Word(7).Word(midPC).Pad(64).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	tg := target(memories(m))
	for _, modelled := range []bool{true, false} {
		if tg.Code = l; !modelled {
			tg.Code = plain{l}
		}
		s := with(&fake{name: "f"}).Stack(context.Background(), tg, thread(start+5, sp0, 0, cStack), Options{})
		if !modelled {
			equal(t, "PCs", pcs(s), []uint64{start + 5})
			continue
		}
		equal(t, "PCs", pcs(s), []uint64{start + 5, midPC})
		f := s.Frames[1]
		if rbx, ok := f.Registers.Get(unwind.AMD64RBX); f.Strategy != unwind.StrategyCode || f.Trust != unwind.TrustCFI || !ok || rbx != 7 {
			t.Errorf("%+v", f)
		}
	}
}

// TestLyingTables: an end that tables claim, or a plugin, where the code or other tables know
// a caller; and a step of theirs that skips it. The lie is shown.
func TestLyingTables(t *testing.T) {
	const start, skipped = 0x40b000, sp0 + 48
	l := &library{code: synthetic, addr: start, pieces: []uint64{start},
		bytes: []byte{0x53, 0x48, 0x83, 0xec, 0x10, 0x90, 0x48, 0x83, 0xc4, 0x10, 0x5b, 0xff, 0xe0}} // push %rbx; sub $16,%rsp; nop; ...
	l.model = codemodel.New(unwind.AMD64, l)
	m, err := stackasm.New(unwind.AMD64, sp0).Pad(24).Word(midPC).Pad(8).Word(outerPC).Pad(64).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	ends := &fake{name: "lies", stop: map[uint64]unwind.WalkResult{start + 5: {Stop: unwind.StopEnd, Reason: "the end"}}}
	skips := &fake{name: "lies", steps: map[uint64][]unwind.Step{start + 5: {step(skipped, outerPC, 0)}}}
	honest := &fake{name: "honest", steps: map[uint64][]unwind.Step{start + 5: {step(sp0+32, midPC, 0)}}}
	for _, c := range []struct {
		what       string
		strategies []*fake
		code       CodeMap
		want       []uint64
		shown      string
	}{
		{"an end, by code", []*fake{ends}, l, []uint64{start + 5, midPC}, "the end, but a caller is known"},
		{"an end, by other tables", []*fake{ends, honest}, plain{l}, []uint64{start + 5, midPC}, "the end, but a caller is known"},
		{"an end on which all agree", []*fake{ends, ends}, plain{l}, []uint64{start + 5}, ""},
		{"a skipped frame, by code", []*fake{skips}, l, []uint64{start + 5, midPC}, "the function's own code puts its CFA at"},
		{"a skipped frame, by other tables too", []*fake{skips, honest}, l, []uint64{start + 5, midPC}, "the function's own code puts its CFA at"},
	} {
		a := with(c.strategies...)
		for i := range a.Strategies {
			a.Strategies[i].Description.Trust = unwind.TrustCFI
		}
		tg := target(memories(m))
		tg.Code = c.code
		s := a.Stack(context.Background(), tg, thread(start+5, sp0, 0, cStack), Options{})
		equal(t, c.what, pcs(s), c.want)
		rejected := s.Frames[0].Rejected
		if shown := len(rejected) > 0 && strings.Contains(rejected[0].Reason, c.shown); shown != (c.shown != "") || (s.Stop == unwind.End) != (c.shown == "") {
			t.Errorf("%s: %s, %s, %+v", c.what, s.Stop, s.Reason, rejected)
		}
	}
}

// TestDirectCallStays: a direct call cannot have led out of code that is known in full,
// though behind a call in it that never returns lies code that jumps anywhere.
func TestDirectCallStays(t *testing.T) {
	const start, ra = 0x40b000, 0x40b00d
	l := &library{code: synthetic, addr: start, pieces: []uint64{start, start + 16, start + 26, start + 28}, bytes: []byte{
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xe8, 3, 0, 0, 0, 0xc3, 0x90, 0x90, // ...; call 16; ret
		0x85, 0xff, 0x74, 1, 0xc3, 0xe8, 2, 0, 0, 0, // test %edi,%edi; je 1f; ret; 1: call 28
		0xff, 0xe0, // jmp *%rax
		0x0f, 0x0b, 0, 0, 0, 0, 0, 0, // ud2
	}}
	l.model = codemodel.New(unwind.AMD64, l)
	m, err := stackasm.New(unwind.AMD64, sp0).Pad(8).Word(ra).Pad(64).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	tg := target(memories(m))
	for _, modelled := range []bool{true, false} {
		if tg.Code = l; !modelled {
			tg.Code = plain{l}
		}
		scan := &scanner{fake{name: "scan", steps: map[uint64][]unwind.Step{leafPC: {step(sp0+16, ra, 0)}}}}
		s := with().behind(scan).Stack(context.Background(), tg, thread(leafPC, sp0, 0, cStack), Options{})
		if refused := len(s.Frames) == 1 && strings.Contains(s.Reason, "does not lead to"); refused != modelled {
			t.Errorf("with a model %v: %#x, %s", modelled, pcs(s), s.Reason)
		}
	}
}

// TestCallsOwnC: what the runtime calls of its own C is in its image; a return address of it
// below another image's code is an old one.
func TestCallsOwnC(t *testing.T) {
	const start, ra = 0x40b000, 0x505010
	l := &library{code: synthetic, addr: start, pieces: []uint64{start}, bytes: []byte{0x90, 0xc3}} // nop; ret
	l.model = codemodel.New(unwind.AMD64, l)
	m, err := stackasm.New(unwind.AMD64, sp0).Word(ra).Pad(64).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	for image, refuses := range map[*codemodel.Image]bool{codemodel.New(unwind.AMD64, l): true, l.model: false, nil: false} {
		tg := target(memories(m))
		tg.Code = &ofGo{library: l, at: ra, image: image}
		scan := &scanner{fake{name: "scan", steps: map[uint64][]unwind.Step{start + 1: {step(sp0+8, ra, 0)}}}}
		s := with().behind(scan).Stack(context.Background(), tg, thread(start+1, sp0, 0, cStack), Options{})
		if refused := strings.Contains(s.Reason, "calls C of its own image only"); refused != refuses {
			t.Errorf("refused %v: %s", refused, s.Reason)
		}
	}
}

// ofGo is a library with runtime.callCgoMmap in another image, behind an indirect call.
type ofGo struct {
	*library
	at    uint64
	image *codemodel.Image
}

func (o *ofGo) Function(at unwind.LookupAddr) (Function, bool) {
	if page := o.at &^ 0xfff; uint64(at) >= page && uint64(at) < page+0x1000 {
		return Function{Name: "runtime.callCgoMmap", Start: page, End: page + 0x1000, Exact: true, Go: true, Asm: true}, true
	}
	return o.library.Function(at)
}

func (o *ofGo) Bytes(addr uint64, n int) []byte {
	if page := o.at &^ 0xfff; addr >= page && addr < page+0x1000 {
		code := make([]byte, 0x1000)
		copy(code[o.at-page-2:], []byte{0xff, 0xd0}) // call *%rax
		code = code[addr-page:]
		return code[:min(n, len(code))]
	}
	return o.library.Bytes(addr, n)
}

func (o *ofGo) Model(at unwind.LookupAddr) (*codemodel.Image, uint64) {
	if uint64(at) >= o.at&^0xfff && uint64(at) <= o.at {
		return o.image, 0
	}
	return o.library.Model(at)
}
