package assembler

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// wildCode is the synthetic code with arm64's trampoline, and a word of code before midPC.
type wildCode struct {
	behind
	trampoline armSignal
}

func (c wildCode) Bytes(addr uint64, n int) []byte {
	if addr == sigPC {
		return c.trampoline.Bytes(addr, n)
	}
	return c.behind.Bytes(addr, n)
}

// TestCallToNowhereARM64: a program counter where no code is, is believed below a signal only if the
// processor could not fetch an instruction there, and left only by a return address that a call ends at.
func TestCallToNowhereARM64(t *testing.T) {
	const wild, arch = 0x42_4242_4240, unwind.ARM64
	const abort, data, aligned = 0x20 << 26, 0x24 << 26, 0x22 << 26
	const blr, bl, ret = 0xd63f0020, 0x94000000, 0xd65f03c0
	const fpsimd, esrRecord = 528<<32 | 0x46508001, 16<<32 | 0x45535201
	for name, c := range map[string]struct {
		pc, fault, esr, lr uint64
		word               uint32 // before the return address
		records            []uint64
		want               []uint64
	}{
		"fetch failed":                {wild, wild, abort, midPC, blr, nil, []uint64{sigPC, wild, midPC}},
		"by a jump of what it called": {wild, wild, abort, midPC, bl, nil, []uint64{sigPC, wild, midPC}},
		"a signed return address":     {wild, wild, abort, 0x35<<48 | midPC, blr, nil, []uint64{sigPC, wild, midPC}},
		"not aligned":                 {wild + 2, 0, aligned, midPC, blr, nil, []uint64{sigPC, wild + 2, midPC}},
		"an earlier fault":            {wild, 0, aligned, midPC, blr, nil, []uint64{sigPC}},
		"a fault of data":             {wild, wild, data, midPC, blr, nil, []uint64{sigPC}},
		"fault at other address":      {wild, wild + 8, abort, midPC, blr, nil, []uint64{sigPC}},
		"no call ends there":          {wild, wild, abort, midPC, ret, nil, []uint64{sigPC, wild}},
		"a return to nowhere":         {wild, wild, abort, wild, blr, nil, []uint64{sigPC, wild}},
		"no record of the fault":      {wild, wild, abort, midPC, blr, []uint64{0}, []uint64{sigPC}},
		"a record without an end":     {wild, wild, abort, midPC, blr, []uint64{0x46508001, 0, esrRecord, abort}, []uint64{sigPC}},
		"a record of odd size":        {wild, wild, abort, midPC, blr, []uint64{24<<32 | 0x46508001, 0, 0, esrRecord, abort}, []uint64{sigPC}},
		"behind other registers":      {wild, wild, abort, midPC, blr, append(append([]uint64{fpsimd}, make([]uint64, 65)...), esrRecord, abort), []uint64{sigPC, wild, midPC}},
	} {
		stack, err := stackasm.New(arch, sp0).Pad(64).Assemble()
		if err != nil {
			t.Fatal(err)
		}
		sig := stackasm.New(arch, 0x5000_0000).Mark("frame").Pad(arm64Fault).Word(c.fault)
		for range 29 {
			sig.Word(0)
		}
		sig.Word(0x1234, c.lr, sp0, c.pc, 0, 0) // x29, x30, sp, pc, pstate, up to a multiple of 16
		if c.records == nil {
			c.records = []uint64{esrRecord, c.esr}
		}
		sm, err := sig.Word(c.records...).Pad(64).Assemble()
		if err != nil {
			t.Fatal(err)
		}
		tg := target(memories(sm, stack))
		tg.Arch, tg.PACMask = arch, 0x7f<<48
		tg.Code = wildCode{behind: behind{synthetic, binary.LittleEndian.AppendUint32(nil, c.word)}}
		fault, syndrome, ok := tg.FaultARM64(sm.Addr("frame") + 128)
		if behind := len(c.records) > 2; !behind && (ok != (c.records[0] == esrRecord) || ok && (fault != c.fault || syndrome != c.esr)) {
			t.Errorf("%s: fault %#x, syndrome %#x, %v", name, fault, syndrome, ok)
		}
		th := &unwind.Thread{ID: 7, Segments: []unwind.Segment{sm.Segment(unwind.SegmentSignal), cStack}}
		th.Registers.Set(arch.PC(), sigPC)
		th.Registers.Set(arch.SP(), sm.Addr("frame"))
		s := with().Stack(context.Background(), tg, th, Options{})
		equal(t, name, pcs(s), c.want)
		last := s.Frames[len(s.Frames)-1]
		if len(c.want) != 3 {
			continue
		}
		fp, _ := last.Registers.FP(arch)
		if sp, _ := last.Registers.SP(arch); last.Trust != unwind.TrustScan || len(last.Notes) == 0 || sp != sp0 || fp != 0x1234 {
			t.Errorf("%s: trust %v, notes %q, stack pointer %#x, frame pointer %#x", name, last.Trust, last.Notes, sp, fp)
		}
	}
}

// TestInnermostNowhereARM64: where the kernel has not yet delivered the signal, the same holds of the innermost
// frame. Of another architecture no rule is known.
func TestInnermostNowhereARM64(t *testing.T) {
	const wild = 0x42_4242_4240
	stack, err := stackasm.New(unwind.ARM64, sp0).Pad(64).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	for lr, want := range map[uint64][]uint64{midPC: {wild, midPC}, midPC + 4: {wild}, 0: {wild}} {
		tg := target(memories(stack))
		tg.Arch, tg.Code = unwind.ARM64, behind{synthetic, binary.LittleEndian.AppendUint32(nil, 0xd63f0020)}
		th := &unwind.Thread{ID: 7, Segments: []unwind.Segment{cStack}}
		th.Registers.Set(unwind.ARM64PC, wild)
		th.Registers.Set(unwind.ARM64SP, sp0)
		th.Registers.Set(unwind.ARM64LR, lr)
		equal(t, "PCs", pcs(with().Stack(context.Background(), tg, th, Options{})), want)
	}
}
