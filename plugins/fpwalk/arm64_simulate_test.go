package fpwalk

import (
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// TestR6LeafInLinkRegister stops in assign: its caller is main at the address
// in x30, and x29 is still main's. Following x29 alone would lose main.
func TestR6LeafInLinkRegister(t *testing.T) {
	const intoMain = mainAt + 12
	for _, tc := range []struct {
		pc   uint64
		sp   int64
		rule string
	}{
		{assignAt, 0, "cfa=sp; ra=x30; fp=unchanged"},
		{assignAt + 4, -16, "cfa=sp+16; ra=x30; fp=unchanged"},
		{assignAt + 16, -16, "cfa=sp+16; ra=x30; fp=unchanged"},
		{assignAt + 20, 0, "cfa=sp; ra=x30; fp=unchanged"},
	} {
		s := stop(t, unwind.ARM64, mainStack(), stackasm.Values{"pc": num(tc.pc), "sp": at("main").Plus(tc.sp),
			"x29": at("main"), "x30": num(intoMain), "x19": num(19)})
		s.in(&unwind.FunctionCode{Start: assignAt, Exact: true, Code: assign})
		r := s.wants([]uint64{intoMain, codeBase + 0x100, codeBase + 0x200}, unwind.StopEnd, endOfChain)
		s.wantStep(r, s.memory.Addr("main"), tc.rule, unwind.TrustFramePointer, "")
		if v, _ := r.Steps[0].Caller.Get(19); v != 19 {
			t.Error("x19 is lost in a function that does not touch it")
		}
	}
}

// TestR6Prologue stops in main: before, while and after its record is made, and
// when it is taken down. x30 counts only where it still holds the caller.
func TestR6Prologue(t *testing.T) {
	const stale = mainAt + 12
	for _, tc := range []struct {
		offset  uint64
		sp, x29 stackasm.Value
		x30     uint64
	}{
		{0, at("entry"), at("start"), codeBase + 0x100},
		{4, at("main"), at("start"), codeBase + 0x100},
		{8, at("main"), at("main"), codeBase + 0x100},
		{12, at("main"), at("main"), stale},
		{16, at("main"), at("main"), stale},
		{20, at("entry"), at("start"), codeBase + 0x100},
	} {
		s := stop(t, unwind.ARM64, mainStack(), stackasm.Values{"pc": num(mainAt + tc.offset), "sp": tc.sp, "x29": tc.x29, "x30": num(tc.x30)})
		s.in(&unwind.FunctionCode{Start: mainAt, Exact: true, Code: mainCode})
		r := s.wants(twoCallers, unwind.StopEnd, endOfChain)
		if r.Steps[0].CFA != s.memory.Addr("entry") || r.Steps[0].Trust != unwind.TrustFramePointer {
			t.Errorf("at %d: CFA %#x by %s, trust %v", tc.offset, r.Steps[0].CFA, r.Steps[0].Rule, r.Steps[0].Trust)
		}
	}
}

// TestR10LeafGoesNowhere: a rule that leaves PC and SP as they are leads
// nowhere, and a return address in a register must be known.
func TestR10LeafGoesNowhere(t *testing.T) {
	regs := stackasm.Values{"pc": num(assignAt), "sp": at("main"), "x29": at("main"), "x30": num(assignAt)}
	s := stop(t, unwind.ARM64, mainStack(), regs).in(&unwind.FunctionCode{Start: assignAt, Exact: true, Code: assign})
	s.wants(nil, unwind.StopBroken, "above the stack pointer")
	regs["sp"] = at("main").Plus(8)
	s = stop(t, unwind.ARM64, mainStack(), regs).in(&unwind.FunctionCode{Start: assignAt, Exact: true, Code: assign})
	s.wants(nil, unwind.StopBroken, "multiple of 16")
	delete(regs, "x30")
	s = stop(t, unwind.ARM64, mainStack(), regs).in(&unwind.FunctionCode{Start: assignAt, Exact: true, Code: assign})
	s.wants(nil, unwind.StopNoRule, "x30, which is not known")
}

// TestR11LinkRegister strips the return address of a leaf.
func TestR11LinkRegister(t *testing.T) {
	const mask = 0x007f_0000_0000_0000
	regs := stackasm.Values{"pc": num(assignAt), "sp": at("sp"), "x29": at("fp0"), "x30": num(codeBase + 0x80 | 0x0013_0000_0000_0000)}
	f := stop(t, unwind.ARM64, twoFrames(unwind.ARM64), regs).in(&unwind.FunctionCode{Start: assignAt, Exact: true, Code: assign})
	f.pacMask = mask
	f.wants([]uint64{codeBase + 0x80, twoCallers[0], twoCallers[1]}, unwind.StopEnd, endOfChain)
}
