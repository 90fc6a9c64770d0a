package assembler

import (
	"context"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// Code that only a jump table reaches shows a rule that is likely: a frame pointer
// that says otherwise is refused, and what a scan or Delve found is not.
func TestLikelyCodeContradictsAFramePointer(t *testing.T) {
	// sub $24,%rsp; jmp *%rax; call *%rax; add $24,%rsp; jmp *%rax
	mid := []byte{0x48, 0x83, 0xec, 0x18, 0xff, 0xe0, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x18, 0xff, 0xe0}
	m, err := stackasm.New(unwind.AMD64, sp0).Word(0x402008).Pad(24).Word(outerPC).Pad(64).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	tg := target(memories(m))
	tg.Code = codeAt{synthetic, 0x402000, mid}
	for trust, want := range map[unwind.Trust][]uint64{
		unwind.TrustFramePointer: {leafPC, 0x402008},
		unwind.TrustScan:         {leafPC, 0x402008, outerPC},
	} {
		f := &fake{name: "f", steps: map[uint64][]unwind.Step{
			leafPC: {step(sp0+8, 0x402008, sp0+64)}, 0x402008: {trusted(step(sp0+80, outerPC, 0), trust)},
		}}
		s := with(f).Stack(context.Background(), tg, thread(leafPC, sp0, sp0+64, cStack), Options{})
		equal(t, trust.String(), pcs(s), want)
		if r := s.Frames[1].Rejected; (len(r) > 0) != (len(want) == 2) {
			t.Errorf("%v: rejected %+v", trust, r)
		}
	}
}

// found is code whose functions a model has to find.
type found struct {
	codeAt
	model *codemodel.Image
}

func newFound(c code, start uint64, bytes []byte) *found {
	f := &found{codeAt: codeAt{c, start, bytes}}
	f.model = codemodel.New(unwind.AMD64, f)
	return f
}

// Model implements [CodeMap].
func (f *found) Model(at unwind.LookupAddr) (*codemodel.Image, uint64) {
	if uint64(at)-f.start >= uint64(len(f.bytes)) {
		return nil, 0
	}
	return f.model, 0
}

// Contents of the model.
func (f *found) Code(addr uint64, n int) []byte {
	at := min(addr-f.start, uint64(len(f.bytes)))
	return f.bytes[at:min(at+uint64(n), uint64(len(f.bytes)))]
}
func (f *found) Data(uint64, int) []byte                    { return nil }
func (f *found) Slot(uint64) (uint64, string)               { return 0, "" }
func (f *found) Bounds(uint64) (p codemodel.Piece, ok bool) { return p, false }
func (f *found) Layout() *codemodel.Layout {
	return &codemodel.Layout{Code: []unwind.Range{{Start: f.start, End: f.start + uint64(len(f.bytes))}}}
}

// A frame pointer that was followed out of a function whose code does not tell
// whether it keeps one has no more trust than a scanned frame. Example: its start
// is only the nearest symbol. Nothing above shows whether callers are
// missing, so that the stack has no end, unless the model finds a function there that
// keeps a frame pointer.
func TestFramePointerOutOfUnclearCode(t *testing.T) {
	for name, c := range map[string]struct {
		body []byte       // of mid, in front of the call
		left unwind.Trust // of mid's caller
		want unwind.Trust // of those above, at most
	}{
		"nothing shows one":       {[]byte{0x90, 0x90, 0x90, 0x90}, unwind.TrustScan, unwind.TrustScan},
		"a prologue shows that":   {[]byte{0x55, 0x48, 0x89, 0xe5}, unwind.TrustFramePointer, unwind.TrustCFI},
		"one that is taken down":  {[]byte{0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3}, unwind.TrustScan, unwind.TrustScan},
		"the start of its symbol": {nil, unwind.TrustScan, unwind.TrustScan},
	} {
		body := append(c.body, 0xff, 0xd0, 0x90, 0x90, 0x90, 0x90) // call *%rax
		ra := 0x402000 + uint64(len(c.body)) + 2
		unclear := code{}
		for start, fn := range synthetic {
			fn.Exact = start != 0x402000
			unclear[start] = fn
		}
		m, err := stackasm.New(unwind.AMD64, sp0).Word(sp0 + 16).Word(ra).Word(0).Word(outerPC).Pad(64).Assemble()
		if err != nil {
			t.Fatal(err)
		}
		tg := target(memories(m))
		if c.body != nil {
			body = append(body, 0x5d, 0xff, 0xe0) // pop %rbp; jmp *%rax
		}
		tg.Code = newFound(unclear, 0x402000, body)
		f := &fake{name: "f", steps: map[uint64][]unwind.Step{
			leafPC: {step(sp0+16, ra, sp0+16), step(sp0+32, outerPC, 0)}, outerPC: {trusted(step(sp0+64, exitPC, 0), unwind.TrustCFI)},
		}}
		a := with(f)
		a.Strategies = append(a.Strategies, Strategy{Description: a.Strategies[0].Description, Unwinder: f})
		a.Strategies[1].Description.Trust, a.Strategies[1].Description.Name = unwind.TrustCFI, "tables"
		s := a.Stack(context.Background(), tg, thread(leafPC, sp0, sp0, cStack), Options{})
		equal(t, name, pcs(s), []uint64{leafPC, ra, outerPC, exitPC})
		if s.Frames[2].Trust != c.left || s.Frames[3].Trust > c.want || (s.Stop == unwind.End) != (c.want > unwind.TrustScan) {
			t.Errorf("%s: trust %v, %v %q", name, trusts(s), s.Stop, s.Reason)
		}
	}
}
