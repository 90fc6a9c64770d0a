package assembler

import (
	"context"
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// TestStackPointerOutside: an alloca of 64 MB has moved the stack pointer below all stacks. The function's code keeps a
// frame pointer, which is on one. Where nothing shows that, the frame pointer may be another stack's.
func TestStackPointerOutside(t *testing.T) {
	m, err := stackasm.New(unwind.AMD64, sp0).Pad(32).Word(0).Word(midPC).Pad(64).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	framed := []byte{0x55, 0x48, 0x89, 0xe5, 0x48, 0x29, 0xc4, 0x90, 0x90} // push %rbp; mov %rsp,%rbp; sub %rax,%rsp; nop
	for name, c := range map[string]struct {
		code  []byte
		steps []unwind.Step
		want  []uint64
	}{
		"the code keeps a frame pointer": {framed, []unwind.Step{step(sp0+48, midPC, 0)}, []uint64{0x401007, midPC}},
		"tables that say so, too":        {framed, []unwind.Step{trusted(step(sp0+48, midPC, 0), unwind.TrustCFI)}, []uint64{0x401007, midPC}},
		"nothing shows one":              {[]byte{0x48, 0x29, 0xc4, 0x90, 0x90, 0x90, 0x90, 0x90}, []unwind.Step{step(sp0+48, midPC, 0)}, []uint64{0x401007}},
	} {
		tg := target(memories(m))
		tg.Code = written{calling{synthetic, map[uint64]uint64{midPC: 0x401000}}, 0x401000, c.code}
		a := with(&fake{name: "f", steps: map[uint64][]unwind.Step{0x401007: c.steps}})
		a.Strategies[0].Description.Trust = unwind.TrustCFI
		s := a.Stack(context.Background(), tg, thread(0x401007, sp0-64<<20, sp0+32, cStack), Options{MaxFrames: 2})
		equal(t, name, pcs(s), c.want)
		if noted := strings.Contains(strings.Join(s.Frames[0].Notes, ""), "by its frame pointer"); noted != (len(c.want) == 2) {
			t.Errorf("%s: %v, %s", name, s.Frames[0].Notes, s.Reason)
		}
	}
}

// TestInterruptedOutside: the same, where a signal has interrupted the function.
func TestInterruptedOutside(t *testing.T) {
	const signal, pc = 0x6000_0000, 0x401007
	stack, err := stackasm.New(unwind.AMD64, sp0).Pad(32).Word(0).Word(midPC).Pad(64).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	saved := stackasm.New(unwind.AMD64, signal).Pad(40 + 8*10)
	interrupted, err := saved.Word(sp0+32, 0, 0, 0, 0, sp0-64<<20, pc).Pad(64).Assemble() // rbp, rbx, rdx, rax, rcx, rsp, rip
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		code []byte
		want []uint64
	}{
		"the code keeps a frame pointer": {[]byte{0x55, 0x48, 0x89, 0xe5, 0x48, 0x29, 0xc4, 0x90}, []uint64{sigPC, pc, midPC}},
		"nothing shows one":              {[]byte{0x48, 0x29, 0xc4, 0x90, 0x90, 0x90, 0x90, 0x90}, []uint64{sigPC}},
	} {
		tg := target(memories(stack, interrupted))
		tg.Code = written{written{calling{synthetic, map[uint64]uint64{midPC: 0x401000}}, 0x401000, c.code}, sigPC, sigreturn}
		a := with(&fake{name: "f", steps: map[uint64][]unwind.Step{pc: {step(sp0+48, midPC, 0)}}})
		th := thread(sigPC, signal, 0, unwind.Segment{Low: signal, High: signal + 0x1000, Kind: unwind.SegmentSignal}, cStack)
		s := a.Stack(context.Background(), tg, th, Options{MaxFrames: 3})
		equal(t, name, pcs(s), c.want)
	}
}
