package assembler

import (
	"context"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// unnamed is code of no known function, which begins with what entry holds; its model finds
// functions there.
type unnamed struct {
	calling
	entry []byte
	model *codemodel.Image
}

func newUnnamed(calls map[uint64]uint64, entry []byte) unnamed {
	u := unnamed{calling: calling{synthetic, calls}, entry: entry}
	u.model = codemodel.New(unwind.AMD64, u)
	return u
}

// Model implements [CodeMap].
func (u unnamed) Model(unwind.LookupAddr) (*codemodel.Image, uint64) { return u.model, 0 }

// Contents of the model.
func (u unnamed) Code(addr uint64, n int) []byte             { return u.Bytes(addr, n) }
func (u unnamed) Data(uint64, int) []byte                    { return nil }
func (u unnamed) Slot(uint64) (uint64, string)               { return 0, "" }
func (u unnamed) Bounds(uint64) (p codemodel.Piece, ok bool) { return p, false }
func (u unnamed) Layout() *codemodel.Layout {
	return &codemodel.Layout{Code: []unwind.Range{{Start: unnamedPage, End: unnamedPage + 0x1000}}}
}

const unnamedPage = 0x40a000

func (u unnamed) Bytes(addr uint64, n int) []byte {
	out := openEnded{u.calling}.Bytes(addr, n)
	for i := range out {
		at := addr + uint64(i) - unnamedPage
		switch {
		case at < uint64(len(u.entry)):
			out[i] = u.entry[at]
		case at == returns-1 && len(u.entry) > 0:
			out[i] = 0x5d // pop %rbp
		}
	}
	return out
}

// returns is where the page of such code begins to have jumps out of it.
const returns = 0xff0

// TestShownByPrologue: the caller of code in no known function, called through a
// pointer, is shown where the model finds a function there, and its prologue says the same.
func TestShownByPrologue(t *testing.T) {
	const pc = unnamedPage + 0x18
	m, err := stackasm.New(unwind.AMD64, sp0).Word(sp0 + 256).Word(midPC).Pad(512).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		entry []byte
		cfa   uint64
		want  bool
	}{
		"a prologue":          {[]byte{0x55, 0x48, 0x89, 0xe5}, sp0 + 16, true},
		"with endbr64":        {[]byte{0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5}, sp0 + 16, true},
		"moved apart":         {[]byte{0x55, 0x89, 0xf8, 0x48, 0x89, 0xe5}, sp0 + 16, true},
		"none":                {nil, sp0 + 16, false},
		"no frame pointer":    {[]byte{0x55, 0x90}, sp0 + 16, false},
		"of another function": {[]byte{0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3}, sp0 + 16, false},
		"another caller":      {[]byte{0x55, 0x48, 0x89, 0xe5}, sp0 + 32, false},
	} {
		f := &fake{name: "f", steps: map[uint64][]unwind.Step{pc: {trusted(step(c.cfa, midPC, sp0+256), unwind.TrustScan)}}}
		tg := target(memories(m))
		tg.Code = newUnnamed(map[uint64]uint64{midPC: 0}, c.entry)
		s := with(f).Stack(context.Background(), tg, thread(pc, sp0, sp0, cStack), Options{})
		if len(s.Frames) < 2 {
			t.Errorf("%s: %d frames; %s; %v", name, len(s.Frames), s.Reason, s.Frames[0].Rejected)
		} else if got := s.Frames[1]; got.Shown != c.want || got.Trust != unwind.TrustScan {
			t.Errorf("%s: shown %v, trust %v; want %v", name, got.Shown, got.Trust, c.want)
		}
	}
}
