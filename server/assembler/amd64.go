package assembler

import (
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

var amd64 = machine{
	notCode: "is not canonical",
	signal:  signalRule(unwind.AMD64, amd64Saved, amd64SavedOrder),
	tables:  tablesAMD64,
	record:  func(*goFrame) (rule.Rule, error) { return rule.FramePointer(unwind.AMD64), nil },
	setFP: [][]byte{
		{0x48, 0x89, 0xe5},       // mov %rsp,%rbp
		{0x48, 0x8d, 0x6c, 0x24}, // lea N(%rsp),%rbp
	},
}

// Layout of the registers that the kernel saves (asm/ucontext.h, asm/sigcontext.h):
// SP points to the struct ucontext, whose uc_flags, uc_link and uc_stack take 40
// bytes, then registers follow in this order, and behind them the fault (trapno and
// cr2).
const (
	amd64Saved = 40
	amd64Trap  = amd64Saved + 8*20
	amd64Fault = amd64Saved + 8*22
	pageFault  = 14 // Intel SDM volume 3, table 6-1
)

var amd64SavedOrder = []unwind.Register{8, 9, 10, 11, 12, 13, 14, 15, 5 /*rdi*/, 4, /*rsi*/
	unwind.AMD64RBP, unwind.AMD64RBX, 1 /*rdx*/, 0 /*rax*/, 2 /*rcx*/, unwind.AMD64RSP, unwind.AMD64RIP}

// tablesAMD64 is the rule of a Go frame on amd64. See "Go on amd64" in the internal
// ABI document (abi-internal.md, "Architecture specifics") and rule R13: the tables
// hold SP's exact distance from its value at entry for every PC; the frame pointer
// is saved right below the return address.
func tablesAMD64(g *goFrame) (rule.Rule, error) {
	r := rule.Rule{Arch: unwind.AMD64, CFA: rule.In(unwind.AMD64RSP, g.fn.SPDelta+8), RA: rule.AtCFA(-8), FP: rule.AtCFA(-16)}
	cfa := g.sp + uint64(r.CFA.Offset)
	bp, known := g.frame.Registers.FP(unwind.AMD64)
	switch {
	case g.fn.SPDelta < 8 || !known:
		r.FP = rule.Value{From: rule.Same}
	case bp == cfa-16: // the ordinary frame
	default:
		if odd, ok := g.oddFrame(r.CFA); ok {
			return odd, nil
		}
		if !g.framePointerSaved(cfa, bp) {
			r.FP = rule.Value{From: rule.Same}
		}
	}
	return r, nil
}

// framePointerSaved decides whether the frame with this CFA has saved its
// caller's frame pointer at CFA-16, where rbp is not CFA-16 itself.
func (g *goFrame) framePointerSaved(cfa, bp uint64) bool {
	saved, ok := g.word(cfa - 16)
	untouched := bp >= cfa && bp%8 == 0
	return ok && saved != bp && !untouched && g.frame.PC.Kind() == unwind.KindInstruction && saved > g.sp
}
