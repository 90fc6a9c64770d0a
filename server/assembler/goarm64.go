package assembler

import (
	"fmt"

	"github.com/clewdbg/clew/unwind"
)

// stepARM64 leaves a Go frame on arm64 (R12; abi-internal.md, "arm64
// architecture"; cmd/internal/obj/arm64, preprocess). The tables give SP's
// distance from its value at entry, which is the CFA. A frame has its return
// address at SP and the caller's frame pointer right below, where x29 points to.
// A function without a frame, or outside of it, has its return address in x30.
func (t *Target) stepARM64(regs *unwind.Registers, fn Function, sp uint64, kind unwind.PCKind) (unwind.Step, error) {
	cfa := sp + uint64(fn.SPDelta)
	fp, haveFP := regs.FP(t.Arch)
	if fn.SPDelta == 0 {
		return t.stepLink(regs, cfa, kind)
	}
	rule := fmt.Sprintf("cfa=sp+%d; ra=[sp]; fp=", fn.SPDelta)
	if haveFP && fp == sp-8 { // the ordinary frame
		step, err := t.stepRecord(regs, cfa, sp, fp)
		step.Rule = rule + "[sp-8]"
		return t.injected(step, fn), err
	}
	if odd, at, ok := t.stepOddFrame(regs, fn, cfa); ok {
		odd.Rule = fmt.Sprintf("cfa=sp+%d; fp=%s", fn.SPDelta, at)
		return odd, nil
	}
	if kind == unwind.KindReturn || fn.Asm {
		return unwind.Step{CFA: cfa}, fmt.Errorf("%s keeps no frame record where x29 points to", fn.Name)
	}
	// In the prologue, between storing the return address and setting x29, or in
	// the epilogue: x29 is the caller's.
	step, err := t.stepRecord(regs, cfa, sp, 0)
	step.Rule = rule + fpUnchanged
	return t.injected(step, fn), err
}

// stepLink leaves a function that has its return address in x30: only where
// nothing was called since (R10). Behind a call of morestack in a prologue x30
// is what the runtime has saved.
func (t *Target) stepLink(regs *unwind.Registers, cfa uint64, kind unwind.PCKind) (unwind.Step, error) {
	lr, ok := regs.Get(unwind.ARM64LR)
	pc, _ := regs.PC(t.Arch)
	if !ok || kind == unwind.KindReturn && lr == pc {
		return unwind.Step{CFA: cfa}, fmt.Errorf("the function has no frame, and x30 is not known")
	}
	step := unwind.Step{CFA: cfa, CallerKind: unwind.KindReturn, Trust: unwind.TrustCFI, Rule: "cfa=sp; ra=x30; fp=" + fpUnchanged}
	step.Caller.Set(t.Arch.PC(), lr)
	step.Caller.Set(t.Arch.SP(), cfa)
	if fp, ok := regs.FP(t.Arch); ok {
		step.Caller.Set(t.Arch.FP(), fp)
	}
	return step, nil
}

// injected undoes what a signal handler does to make a function look called: it
// pushes x30 and puts the interrupted PC there (runtime/signal_arm64.go, pushCall
// and preparePanic).
func (t *Target) injected(step unwind.Step, fn Function) unwind.Step {
	if !injectsCall[fn.Name] {
		return step
	}
	const pushed = 16
	if lr, err := t.word(step.CFA); err == nil {
		step.Caller.Set(unwind.ARM64LR, lr)
	}
	step.CFA += pushed
	step.Caller.Set(t.Arch.SP(), step.CFA)
	step.Rule += "; x30=[cfa-16]"
	return step
}
