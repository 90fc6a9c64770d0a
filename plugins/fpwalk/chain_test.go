package fpwalk

import (
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// TestR4Chain follows records to a caller whose rbp is 0: that step is still
// made, and then the chain has its proper end.
func TestR4Chain(t *testing.T) {
	s := stop(t, unwind.AMD64, twoFrames(unwind.AMD64), behindCall(unwind.AMD64))
	r := s.wants(twoCallers, unwind.StopEnd, endOfChain)
	s.wantStep(r, s.memory.Addr("fp0")+16, ruleAMD64, unwind.TrustFramePointer, "")
	if fp, ok := r.Steps[0].Caller.FP(unwind.AMD64); !ok || fp != s.memory.Addr("fp1") {
		t.Errorf("caller's rbp %#x", fp)
	}
}

// TestR4ZeroIsEnd asks about the outermost frame itself.
func TestR4ZeroIsEnd(t *testing.T) {
	regs := behindCall(unwind.AMD64)
	regs["rbp"] = num(0)
	stop(t, unwind.AMD64, twoFrames(unwind.AMD64), regs).wants(nil, unwind.StopEnd, endOfChain)
}

// TestR4FramePointerInvalid has frame pointers that none can be.
func TestR4FramePointerInvalid(t *testing.T) {
	for _, tc := range []struct {
		fp     stackasm.Value
		reason string
	}{
		{at("fp0").Plus(4), "multiple of 8"},
		{num(^uint64(0) - 7), "end of the address space"},
		{num(^uint64(0) - 15), "end of the address space"},
		{num(8), "not an address"},
		{num(0x8000_0000_0000), "not an address"},
		{num(0xffff_7fff_ffff_fff8), "not an address"},
		{num(0xffff_8000_0000_0000), "outside the stack segment"},
		{at("sp").Plus(-16), "outside the stack segment"},
		{at("fp1").Plus(24), "outside the stack segment"},
	} {
		regs := behindCall(unwind.AMD64)
		regs["rbp"] = tc.fp
		stop(t, unwind.AMD64, twoFrames(unwind.AMD64), regs).wants(nil, unwind.StopBroken, tc.reason)
	}
}

// TestR4OutsideSegmentTellsCFA: the host judges by it whether the stack was
// switched.
func TestR4OutsideSegmentTellsCFA(t *testing.T) {
	regs := behindCall(unwind.AMD64)
	regs["rbp"] = num(0x7fff_0000_1000)
	s := stop(t, unwind.AMD64, twoFrames(unwind.AMD64), regs)
	if r := s.wants(nil, unwind.StopBroken, "outside"); r.CFA != 0x7fff_0000_1010 {
		t.Errorf("CFA %#x", r.CFA)
	}
	s.request.Segment = unwind.Segment{} // not known: the frame may be there
	if r := s.wants(nil, unwind.StopMemory, ""); r.Need != (unwind.Range{Start: 0x7fff_0000_1000, End: 0x7fff_0000_1010}) {
		t.Errorf("needs %#x", r.Need)
	}
}

func TestR4BelowStackPointer(t *testing.T) {
	regs := behindCall(unwind.AMD64)
	regs["rsp"] = at("fp0").Plus(8)
	stop(t, unwind.AMD64, twoFrames(unwind.AMD64), regs).wants(nil, unwind.StopBroken, "below the stack pointer")
}

// TestR4CallerDoesNotIncrease has records that point to themselves, back, and
// into the callee's own record.
func TestR4CallerDoesNotIncrease(t *testing.T) {
	for _, back := range []int64{0, -16, 8} {
		s := stackasm.New(unwind.AMD64, stackBase).
			Mark("sp").Pad(32).
			Mark("fp0").Ref("fp1").Word(codeBase + 0x100).
			Mark("fp1").Value(at("fp1").Plus(back)).Word(codeBase + 0x200).Pad(64)
		for _, known := range []bool{true, false} {
			f := stop(t, unwind.AMD64, s, behindCall(unwind.AMD64))
			if !known {
				f.request.Segment = unwind.Segment{}
			}
			r := f.wants(twoCallers[:1], unwind.StopBroken, "does not increase")
			if r.PC != codeBase+0x200 || r.CFA != f.memory.Addr("fp1")+16 {
				t.Errorf("refused pc %#x cfa %#x", r.PC, r.CFA)
			}
		}
	}
}

// TestR4ReturnAddress tries the bounds of what a return address may be.
func TestR4ReturnAddress(t *testing.T) {
	for _, tc := range []struct {
		ra     uint64
		stop   unwind.WalkStop
		reason string
	}{
		{0, unwind.StopEnd, "below 4096"},
		{4095, unwind.StopEnd, "below 4096"},
		{4096, 0, ""},
		{0x7fff_ffff_ffff, 0, ""},
		{0x8000_0000_0000, unwind.StopBroken, "not an address"},
		{0xffff_7fff_ffff_ffff, unwind.StopBroken, "not an address"},
		{0xffff_8000_0000_0000, 0, ""},
	} {
		s := stackasm.New(unwind.AMD64, stackBase).Mark("sp").Pad(16).
			Mark("fp0").Ref("fp1").Word(codeBase+0x100).
			Mark("fp1").Word(0, tc.ra)
		f := stop(t, unwind.AMD64, s, behindCall(unwind.AMD64))
		if tc.reason == "" {
			f.wants([]uint64{codeBase + 0x100, tc.ra}, unwind.StopEnd, endOfChain)
			continue
		}
		f.wants(twoCallers[:1], tc.stop, tc.reason)
	}
}

// TestR4Unreadable asks for a record's memory, also where half of it is there;
// a record in two windows is read.
func TestR4Unreadable(t *testing.T) {
	s := stop(t, unwind.AMD64, twoFrames(unwind.AMD64), behindCall(unwind.AMD64))
	fp1 := s.memory.Addr("fp1")
	for _, end := range []uint64{fp1, fp1 + 8, fp1 + 15} {
		s.request.Stack = s.memory.Slice(0, end)
		if r := s.wants(twoCallers[:1], unwind.StopMemory, ""); r.Need != (unwind.Range{Start: fp1, End: fp1 + 16}) {
			t.Errorf("with memory up to %#x: needs %#x", end, r.Need)
		}
	}
	s.request.Stack = append(s.memory.Slice(fp1+8, s.memory.End()), s.memory.Slice(0, fp1+8)...)
	s.wants(twoCallers, unwind.StopEnd, endOfChain)
}

// TestR4CallerWithoutFramePointer: what the caller keeps in rbp is a number.
// The record is the frame's own, so the step is made, with less trust; then the
// chain is broken, not ended.
func TestR4CallerWithoutFramePointer(t *testing.T) {
	for _, rbp := range []uint64{1, 4095, stackBase + 0x1001, 0x1234_5678_9abc_def0} {
		s := stackasm.New(unwind.AMD64, stackBase).Mark("sp").Pad(16).
			Mark("fp0").Word(rbp, codeBase+0x100).Pad(64)
		f := stop(t, unwind.AMD64, s, behindCall(unwind.AMD64))
		r := f.wants(twoCallers[:1], unwind.StopBroken, "frame pointer")
		f.wantStep(r, f.memory.Addr("fp0")+16, ruleAMD64, unwind.TrustScan, noteBorder)
		f.in(nil).wants(nil, unwind.StopBroken, "not an address") // two doubts are too many
	}
}

// TestR8ReturnAddressOfFrame: a parked frame whose own PC is no address.
func TestR8ReturnAddressOfFrame(t *testing.T) {
	regs := behindCall(unwind.AMD64)
	regs["rip"] = num(0)
	stop(t, unwind.AMD64, twoFrames(unwind.AMD64), regs).wants(nil, unwind.StopEnd, "R8")
}

// TestR14OtherStack: C code on the g0 stack was called from a goroutine, whose
// record lies on its own stack, above or below. The step is made, its CFA is on
// this stack, and the walk leaves the rest to the host.
func TestR14OtherStack(t *testing.T) {
	for _, goroutine := range []uint64{0xc0_0000_2000, 0x7fff_ffff_0000} {
		s := stackasm.New(unwind.AMD64, stackBase).Mark("sp").Pad(16).
			Mark("fp0").Word(goroutine, codeBase+0x100).Pad(64)
		f := stop(t, unwind.AMD64, s, behindCall(unwind.AMD64))
		r := f.wants(twoCallers[:1], unwind.StopBroken, "outside the stack segment")
		f.wantStep(r, f.memory.Addr("fp0")+16, ruleAMD64, unwind.TrustFramePointer, "")
		if fp, _ := r.Steps[0].Caller.FP(unwind.AMD64); fp != goroutine || r.CFA != goroutine+16 {
			t.Errorf("caller's rbp %#x, refused CFA %#x", fp, r.CFA)
		}
	}
}

// TestUnknownRegisters: no frame pointer, no program counter, no stack pointer.
func TestUnknownRegisters(t *testing.T) {
	for _, reg := range []string{"rbp", "rip", "rsp"} {
		regs := behindCall(unwind.AMD64)
		delete(regs, reg)
		s := stop(t, unwind.AMD64, twoFrames(unwind.AMD64), regs)
		if reg == "rsp" {
			s.wants(twoCallers, unwind.StopEnd, endOfChain)
			continue
		}
		s.wants(nil, unwind.StopNoRule, "not known")
	}
}

// TestRegistersDropped: a record says nothing of other callee-saved registers.
func TestRegistersDropped(t *testing.T) {
	regs := behindCall(unwind.AMD64)
	regs["rbx"], regs["r12"], regs["rax"] = num(1), num(2), num(3)
	for _, step := range stop(t, unwind.AMD64, twoFrames(unwind.AMD64), regs).walk().Steps {
		if step.Caller.Len() != 3 {
			t.Errorf("%d registers known, want PC, SP and FP", step.Caller.Len())
		}
	}
}

// TestYield stops at the first caller in a range of another strategy, by its
// lookup address: the return address itself may be the next function's.
func TestYield(t *testing.T) {
	s := stop(t, unwind.AMD64, twoFrames(unwind.AMD64), behindCall(unwind.AMD64))
	s.yield = unwind.RangeSet{{Start: codeBase + 0xf0, End: codeBase + 0x100}}
	s.wants(twoCallers[:1], unwind.StopYield, "")
	s.yield = unwind.RangeSet{{Start: codeBase, End: codeBase + 1}, {Start: codeBase + 0x100, End: codeBase + 0x110}}
	s.wants(twoCallers, unwind.StopEnd, endOfChain)
}

func TestLimit(t *testing.T) {
	s := stop(t, unwind.AMD64, twoFrames(unwind.AMD64), behindCall(unwind.AMD64))
	for limit := range 3 {
		s.request.MaxFrames = limit
		s.wants(twoCallers[:limit], unwind.StopLimit, "")
	}
}
