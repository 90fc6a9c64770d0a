package assembler

import (
	"context"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// TestOwnStack: assembly that went to another stack by itself, and kept the old
// SP in a register that C preserves, is left by that register; where it is not
// known, nothing is made up.
func TestOwnStack(t *testing.T) {
	const page, ra = 0x505000, 0x505000 + 12
	racecall := []byte{
		0x49, 0x89, 0xe4, // mov %rsp,%r12
		0x49, 0x8b, 0x22, // mov (%r10),%rsp
		0x48, 0x83, 0xe4, 0xf0, // and $-16,%rsp
		0xff, 0xd0, // call *%rax
		0x4c, 0x89, 0xe4, 0xc3, // mov %r12,%rsp; ret
	}
	goroutine := stackasm.New(unwind.AMD64, 0x6000_0000)
	goroutine.Pad(64).Mark("sp").Word(goCallPC).Pad(24).Word(exitPC).Pad(64)
	gm, err := goroutine.Assemble()
	if err != nil {
		t.Fatal(err)
	}
	known := code{page: {Name: "racecall", Exact: true, Go: true, Asm: true, HasSPDelta: true}}
	for start, fn := range synthetic {
		known[start] = fn
	}
	tg := target(memories(gm))
	tg.Code = codeAt{known, page, racecall}
	g0 := unwind.Segment{Low: cStack.Low, High: cStack.High, Kind: unwind.SegmentG0}
	for name, c := range map[string]struct {
		known bool
		want  []uint64
	}{
		"the register is known": {true, []uint64{leafPC, ra, goCallPC, exitPC}},
		"it is not":             {false, []uint64{leafPC, ra}},
	} {
		first := step(sp0+16, ra, gm.Addr("sp")+64)
		if c.known {
			first.Caller.Set(unwind.AMD64R12, gm.Addr("sp"))
		}
		f := &fake{name: "f", steps: map[uint64][]unwind.Step{leafPC: {first}}}
		s := with(f).Stack(context.Background(), tg, thread(leafPC, sp0, sp0, g0, gm.Segment(unwind.SegmentGoroutine)), Options{})
		equal(t, name, pcs(s), c.want)
		if ended := s.Stop == unwind.End; ended != c.known {
			t.Errorf("%s: %v %q", name, s.Stop, s.Reason)
		}
	}
}
