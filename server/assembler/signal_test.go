package assembler

import (
	"context"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// trampoline is code with calls and a signal's trampoline.
type trampoline struct{ calling }

func (c trampoline) Bytes(addr uint64, n int) []byte {
	if addr == sigPC {
		return c.code.Bytes(addr, n)
	}
	return c.calling.Bytes(addr, n)
}

// TestCallToNowhere: a program counter where no code is, is believed below a
// signal only if the processor could not fetch an instruction there, and left only
// by a return address that a call ends at.
func TestCallToNowhere(t *testing.T) {
	const wild = 0x7777_0000
	called := trampoline{calling{synthetic, map[uint64]uint64{midPC: 0}}}
	for name, c := range map[string]struct {
		trap, fault, ra uint64
		want            []uint64
	}{
		"fetch failed":           {pageFault, wild, midPC, []uint64{sigPC, wild, midPC}},
		"another fault":          {13, wild, midPC, []uint64{sigPC}},
		"fault at other address": {pageFault, wild + 8, midPC, []uint64{sigPC}},
		"no call ends there":     {pageFault, wild, midPC - 1, []uint64{sigPC, wild}},
	} {
		stack, err := stackasm.New(unwind.AMD64, sp0).Word(c.ra).Pad(64).Assemble()
		if err != nil {
			t.Fatal(err)
		}
		sig := stackasm.New(unwind.AMD64, 0x5000_0000).Mark("ucontext").Pad(amd64Saved)
		for _, reg := range amd64SavedOrder {
			sig.Word(map[unwind.Register]uint64{unwind.AMD64RIP: wild, unwind.AMD64RSP: sp0}[reg])
		}
		sm, err := sig.Word(0, 0, 0, c.trap, 0, c.fault).Pad(64).Assemble() // eflags, selectors, error; trap; mask; cr2
		if err != nil {
			t.Fatal(err)
		}
		tg := target(memories(sm, stack))
		tg.Code = called
		th := thread(sigPC, sm.Addr("ucontext"), 0, sm.Segment(unwind.SegmentSignal), cStack)
		s := with().Stack(context.Background(), tg, th, Options{})
		equal(t, name, pcs(s), c.want)
		if last := s.Frames[len(s.Frames)-1]; len(c.want) == 3 && (last.Trust != unwind.TrustScan || len(last.Notes) == 0) {
			t.Errorf("%s: trust %v, notes %q", name, last.Trust, last.Notes)
		}
	}
}

// At either end of the address space nothing lies before or behind.
func TestCallToTheEdge(t *testing.T) {
	for _, pc := range []uint64{unwind.LowestCode, ^uint64(0) - 7, ^uint64(0)} {
		stack, err := stackasm.New(unwind.AMD64, sp0).Word(midPC).Pad(64).Assemble()
		if err != nil {
			t.Fatal(err)
		}
		tg := target(memories(stack))
		tg.Code = calling{synthetic, map[uint64]uint64{midPC: 0}}
		s := with().Stack(context.Background(), tg, thread(pc, sp0, 0, cStack), Options{})
		equal(t, "PCs", pcs(s), []uint64{pc, midPC})
	}
}
