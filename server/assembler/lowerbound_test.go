package assembler

import (
	"context"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// TestR12UnknownStackPointer: a caller whose stack pointer is not known stays so. Its frame
// has no CFA; the stack goes on by the frame pointer, upwards only; and a rule that needs
// the stack pointer does not apply.
func TestR12UnknownStackPointer(t *testing.T) {
	arch := unwind.ARM64
	m, err := stackasm.New(arch, 0x7fff_0000).Mark("sp").Pad(32).Mark("mid").Pad(32).Mark("outer").Pad(64).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	chain := func(record, pc, fp uint64) []unwind.Step {
		s := unwind.Step{CFA: record + 16, CallerKind: unwind.KindReturn, Trust: unwind.TrustFramePointer, Rule: "cfa=unknown; ra=[x29+8]; fp=[x29]"}
		s.Caller.Set(arch.PC(), pc)
		s.Caller.Set(arch.FP(), fp)
		return []unwind.Step{s}
	}
	walk := func(outer uint64) unwind.Stack {
		f := &fake{name: "records", steps: map[uint64][]unwind.Step{
			leafPC: chain(m.Addr("sp"), midPC, m.Addr("mid")),
			midPC:  chain(outer, outerPC, m.Addr("outer")),
		}}
		a := &Assembler{Strategies: []Strategy{{Unwinder: f,
			Description: unwind.Description{Name: f.name, Arches: []unwind.Arch{arch}, Anywhere: true, Trust: unwind.TrustFramePointer}}}}
		tg := target(memories(m))
		tg.Arch = arch
		th := &unwind.Thread{ID: 7, Segments: []unwind.Segment{m.Segment(unwind.SegmentThread)}}
		th.Registers.Set(arch.PC(), leafPC)
		th.Registers.Set(arch.SP(), m.Addr("sp"))
		th.Registers.Set(arch.FP(), m.Addr("sp"))
		return a.Stack(context.Background(), tg, th, Options{})
	}
	s := walk(m.Addr("mid"))
	equal(t, "PCs", pcs(s), []uint64{leafPC, midPC, outerPC})
	for i := range s.Frames {
		f := &s.Frames[i]
		if _, known := f.Registers.SP(arch); known != (i == 0) || f.CFA != 0 || f.Segment != 0 {
			t.Errorf("frame %d: SP known: %v, CFA %#x, segment %d", i, known, f.CFA, f.Segment)
		}
	}
	s = walk(m.Addr("sp"))
	equal(t, "PCs of a chain that stands still", pcs(s), []uint64{leafPC, midPC})
	if s.Stop != unwind.Truncated || !strings.Contains(s.Reason, "not above") {
		t.Errorf("stop %v: %s", s.Stop, s.Reason)
	}
}

// nameless is a library without symbols.
type nameless struct{ *library }

func (u nameless) Function(at unwind.LookupAddr) (Function, bool) { return u.library.code.Function(at) }

// TestR12CodeTellsStackPointer: where a chain of records leaves the caller's stack pointer open, the
// model of the code has it, with the same caller. Code without a model leaves it unknown.
func TestR12CodeTellsStackPointer(t *testing.T) {
	const start = 0x40b000
	arch := unwind.ARM64
	l := &library{code: synthetic, addr: start, pieces: []uint64{start}, bytes: []byte{
		0xfd, 0x7b, 0xbd, 0xa9, 0xfd, 0x03, 0x00, 0x91, // stp x29, x30, [sp, #-48]!; mov x29, sp
		0x1f, 0x20, 0x03, 0xd5, 0xfd, 0x7b, 0xc3, 0xa8, 0x00, 0x00, 0x1f, 0xd6, // nop; ldp x29, x30, [sp], #48; br x0
	}}
	l.model = codemodel.New(arch, l)
	m, err := stackasm.New(arch, 0x7fff_0000).Mark("sp").Ref("mid").Word(midPC).Pad(32).Mark("caller").Pad(32).Mark("mid").Pad(64).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	chain := unwind.Step{CFA: m.Addr("sp") + 16, CallerKind: unwind.KindReturn, Trust: unwind.TrustScan, Rule: "cfa=unknown; ra=[x29+8]; fp=[x29]"}
	chain.Caller.Set(arch.PC(), midPC)
	chain.Caller.Set(arch.FP(), m.Addr("mid"))
	a := &Assembler{Strategies: []Strategy{{
		Unwinder:    &fake{name: "records", steps: map[uint64][]unwind.Step{start + 8: {chain}}},
		Description: unwind.Description{Name: "records", Arches: []unwind.Arch{arch}, Anywhere: true, Trust: unwind.TrustFramePointer},
	}}}
	th := &unwind.Thread{ID: 7, Segments: []unwind.Segment{m.Segment(unwind.SegmentThread)}}
	th.Registers.Set(arch.PC(), start+8)
	th.Registers.Set(arch.SP(), m.Addr("sp"))
	th.Registers.Set(arch.FP(), m.Addr("sp"))
	for _, modelled := range []bool{true, false} {
		tg := target(memories(m))
		tg.Arch, tg.Code = arch, nameless{l}
		if !modelled {
			tg.Code = plain{tg.Code}
		}
		s := a.Stack(context.Background(), tg, th, Options{})
		equal(t, "PCs", pcs(s), []uint64{start + 8, midPC})
		caller := &s.Frames[1]
		sp, known := caller.Registers.SP(arch)
		fp, _ := caller.Registers.FP(arch)
		if known != modelled || fp != m.Addr("mid") || modelled && (sp != m.Addr("caller") || s.Frames[0].CFA != sp || caller.Strategy != unwind.StrategyCode) {
			t.Errorf("with a model %v: by %s, SP %#x (%v), FP %#x, CFA of the first %#x", modelled, caller.Strategy, sp, known, fp, s.Frames[0].CFA)
		}
	}
}

// armSignal is the synthetic code with arm64's trampoline: mov x8, #139; svc #0.
type armSignal struct{ code }

func (armSignal) Bytes(addr uint64, n int) []byte {
	if addr != sigPC {
		return nil
	}
	return []byte{0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4}[:min(n, 8)]
}

// TestSignalWithoutStackPointer: the context that a signal has interrupted on arm64 is
// found by the kernel's record above it, however many registers lie between. The record's own
// return address, which the interrupted function has used up, is not taken. A record of zeros, which
// unused memory has too, leads nowhere.
func TestSignalWithoutStackPointer(t *testing.T) {
	arch := unwind.ARM64
	for _, extra := range []int{0, 512, 17 * 1024} {
		stack, m := interrupted(t, extra, func(s *stackasm.Stack) { s.Ref("outer").Word(leafPC + 8) })
		equal(t, "PCs", pcs(stack), []uint64{outerPC, sigPC, midPC})
		if sp, ok := stack.Frames[2].Registers.SP(arch); !ok || sp != m.Addr("interrupted") || stack.Frames[2].PC.Kind() != unwind.KindInstruction {
			t.Errorf("%d bytes more: the interrupted stack pointer is %#x, want %#x", extra, sp, m.Addr("interrupted"))
		}
		stack, _ = interrupted(t, extra, func(s *stackasm.Stack) { s.Word(0).Word(0) })
		if equal(t, "PCs", pcs(stack), []uint64{outerPC, sigPC}); stack.Stop != unwind.Truncated {
			t.Errorf("%d bytes more, a record of zeros: %s: %s", extra, stack.Stop, stack.Reason)
		}
	}
}

// interrupted returns a stack of a signal's handler, of so many bytes more than usual, with x29 and x30 as
// record writes them.
func interrupted(t *testing.T, extra int, record func(*stackasm.Stack)) (unwind.Stack, *stackasm.Memory) {
	t.Helper()
	arch := unwind.ARM64
	s := stackasm.New(arch, 0x7fff_0000).Mark("sp").Pad(16).Mark("handler").Ref("record").Word(sigPC).Mark("frame").Pad(arm64Context)
	for i := range 29 {
		s.Word(uint64(i))
	}
	record(s)
	s.Ref("interrupted").Word(midPC).Pad(arm64SignalSize - arm64Context - 33*8 + extra).Mark("record")
	record(s)
	m, err := s.Mark("interrupted").Pad(64).Mark("outer").Pad(64).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	step := unwind.Step{CFA: m.Addr("handler") + 16, CallerKind: unwind.KindReturn, Trust: unwind.TrustFramePointer, Rule: "cfa=unknown; ra=[x29+8]; fp=[x29]"}
	step.Caller.Set(arch.PC(), sigPC)
	step.Caller.Set(arch.FP(), m.Addr("record"))
	f := &fake{name: "records", steps: map[uint64][]unwind.Step{outerPC: {step}}}
	a := &Assembler{Strategies: []Strategy{{Unwinder: f,
		Description: unwind.Description{Name: f.name, Arches: []unwind.Arch{arch}, Anywhere: true, Trust: unwind.TrustFramePointer}}}}
	tg := target(memories(m))
	tg.Arch, tg.Code = arch, armSignal{synthetic}
	th := &unwind.Thread{ID: 7, Segments: []unwind.Segment{m.Segment(unwind.SegmentThread)}}
	th.Registers.Set(arch.PC(), outerPC)
	th.Registers.Set(arch.SP(), m.Addr("sp"))
	th.Registers.Set(arch.FP(), m.Addr("handler"))
	return a.Stack(context.Background(), tg, th, Options{}), m
}

// TestTrap: the number of a breakpoint instruction, and what writes it.
func TestTrap(t *testing.T) {
	for word, want := range map[uint32]string{
		0xd4200000 | 1000<<5: "trap: brk #1000, __builtin_trap",
		0xd4200000:           "trap: brk #0, runtime.Breakpoint",
		0xd4200000 | 77<<5:   "trap: brk #77",
		0xd4400000:           "", // hlt
		0xd4200001:           "",
		0xd503201f:           "", // nop
	} {
		tg := Target{Arch: unwind.ARM64, Code: trapCode{0x1000: {byte(word), byte(word >> 8), byte(word >> 16), byte(word >> 24)}}}
		if got := tg.trapAt(0x1000); got != want {
			t.Errorf("%#x is %q, want %q", word, got, want)
		}
		tg.Arch = unwind.AMD64
		if got := tg.trapAt(0x1000) + tg.trapAt(0x2000); got != "" {
			t.Errorf("%#x on amd64 is %q", word, got)
		}
	}
}

// trapCode is a code map of bytes at addresses.
type trapCode map[uint64][]byte

func (trapCode) Function(unwind.LookupAddr) (Function, bool)        { return Function{}, false }
func (trapCode) Complete(unwind.LookupAddr) bool                    { return false }
func (c trapCode) Bytes(addr uint64, n int) []byte                  { return c[addr][:min(n, len(c[addr]))] }
func (trapCode) Model(unwind.LookupAddr) (*codemodel.Image, uint64) { return nil, 0 }
