package assembler

import (
	"context"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// unnamed is code of no known function, which begins with what entry holds.
type unnamed struct {
	calling
	entry []byte
}

const unnamedPage = 0x40a000

func (u unnamed) Bytes(addr uint64, n int) []byte {
	out := u.calling.Bytes(addr, n)
	for i := range out {
		if at := addr + uint64(i) - unnamedPage; at < uint64(len(u.entry)) {
			out[i] = u.entry[at]
		}
	}
	return out
}

// TestShownByPrologue: the caller of code in no known function, called through a
// pointer, is shown where a prologue leads to its place and says the same.
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
		tg.Code = unnamed{calling{synthetic, map[uint64]uint64{midPC: 0}}, c.entry}
		s := with(f).Stack(context.Background(), tg, thread(pc, sp0, sp0, cStack), Options{})
		if len(s.Frames) < 2 {
			t.Errorf("%s: %d frames; %s; %v", name, len(s.Frames), s.Reason, s.Frames[0].Rejected)
		} else if got := s.Frames[1]; got.Shown != c.want || got.Trust != unwind.TrustScan {
			t.Errorf("%s: shown %v, trust %v; want %v", name, got.Shown, got.Trust, c.want)
		}
	}
}
