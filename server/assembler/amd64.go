package assembler

import (
	"fmt"

	"github.com/clewdbg/clew/unwind"
)

var amd64 = machine{
	notCode: "is not canonical",
	saved:   amd64Saved, savedOrder: amd64SavedOrder,
	stepGo: (*Target).stepAMD64, stepFP: (*Target).stepFPAMD64,
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

// Rules for Go frames on amd64, as equations. See "Go on amd64" in the internal
// ABI document (abi-internal.md, "Architecture specifics") and rule R13: the
// tables hold SP's exact distance from its value at entry for every PC; the
// frame pointer is saved right below the return address.
const (
	fpSaved     = "[cfa-16]"
	fpUnchanged = "unchanged"
)

func (t *Target) stepAMD64(regs *unwind.Registers, fn Function, sp uint64, kind unwind.PCKind) (unwind.Step, error) {
	bp, haveBP := regs.FP(t.Arch)
	cfa := sp + uint64(fn.SPDelta) + 8
	where, fpSlot := fpUnchanged, uint64(0)
	switch {
	case fn.SPDelta < 8 || !haveBP:
	case bp == cfa-16: // the ordinary frame
		where, fpSlot = fpSaved, cfa-16
	default:
		if odd, rule, ok := t.stepOddFrame(regs, fn, cfa); ok {
			odd.Rule = fmt.Sprintf("cfa=rsp+%d; ra=[cfa-8]; fp=%s", fn.SPDelta+8, rule)
			return odd, nil
		}
		if t.framePointerSaved(cfa, bp, sp, kind) {
			where, fpSlot = fpSaved, cfa-16
		}
	}
	step, err := t.stepRecord(regs, cfa, cfa-8, fpSlot)
	step.Rule = fmt.Sprintf("cfa=rsp+%d; ra=[cfa-8]; fp=%s", fn.SPDelta+8, where)
	return step, err
}

// stepFPAMD64 leaves a frame by rbp alone.
func (t *Target) stepFPAMD64(_ Function, fp uint64) (unwind.Step, error) {
	step, err := t.stepRecord(nil, fp+16, fp+8, fp)
	step.Rule = "cfa=rbp+16; ra=[cfa-8]; fp=[cfa-16]"
	return step, err
}

// framePointerSaved decides whether the frame with this CFA has saved its
// caller's frame pointer at CFA-16, where rbp is not CFA-16 itself.
func (t *Target) framePointerSaved(cfa, bp, sp uint64, kind unwind.PCKind) bool {
	saved, err := t.word(cfa - 16)
	if err != nil {
		return false
	}
	if saved == bp {
		return false
	}
	untouched := bp >= cfa && bp%8 == 0
	return !untouched && kind == unwind.KindInstruction && saved > sp
}
