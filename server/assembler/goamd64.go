package assembler

import (
	"fmt"

	"github.com/clewdbg/clew/unwind"
)

// Rules for Go frames on amd64, as equations. See "Go on amd64" in the
// internal ABI document (abi-internal.md, "Architecture specifics") and rule
// R13: the tables give SP's distance from its value at entry, exactly, for
// every PC; the frame pointer is saved right below the return address.
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

// framePointerSaved decides whether the frame with this CFA has saved its
// caller's frame pointer at CFA-16.
//
// Situation: Go code saves rbp there in every function with a frame, but an
// assembly function marked NOFRAME may move SP without saving it, and one with
// a frame may use rbp as scratch afterwards (crypto code does). Example: in
// sha256.blockAMD64 rbp holds data; in a NOFRAME function that pushed its
// arguments rbp is the caller's still. What decides: rbp == CFA-16 is the
// ordinary frame; [CFA-16] == rbp is the moment between push and mov; an rbp
// that points into the stack above the CFA is the caller's, untouched; any
// other rbp is scratch, and the saved one counts. Test: TestR13FramePointerOfGoFrames.
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
