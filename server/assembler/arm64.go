package assembler

import (
	"fmt"

	"github.com/clewdbg/clew/unwind"
)

var arm64 = machine{
	notCode: "is above the user address space",
	saved:   arm64Saved, savedOrder: arm64SavedOrder,
	stepGo: (*Target).stepARM64, stepFP: (*Target).stepFPARM64,
	setFP: [][]byte{{0xfd, 0x23, 0x00, 0xd1}}, // sub $8,sp,x29
}

// Layout of the registers that the kernel saves (arch/arm64/kernel/signal.c,
// struct rt_sigframe): a struct siginfo of 128 bytes comes first; in struct
// ucontext 176 bytes are before the struct sigcontext, and in that 8 before x0 to
// x30, sp and pc.
const arm64Saved = 128 + 176 + 8

var arm64SavedOrder = func() (out []unwind.Register) {
	for r := unwind.Register(0); r <= 30; r++ {
		out = append(out, r)
	}
	return append(out, unwind.ARM64SP, unwind.ARM64PC)
}()

// stepARM64 leaves a Go frame on arm64 (R12; abi-internal.md, "arm64
// architecture"; cmd/internal/obj/arm64, preprocess). The tables hold SP's
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

// stepFPARM64 leaves a frame by x29 alone.
func (t *Target) stepFPARM64(fn Function, fp uint64) (unwind.Step, error) {
	if fn.SPDelta < 16 {
		return unwind.Step{}, fmt.Errorf("no stack size in Go's tables for %s at this address", fn.Name)
	}
	step, err := t.stepRecord(nil, fp+8+uint64(fn.SPDelta), fp+8, fp)
	step.Rule = fmt.Sprintf("cfa=x29+%d; ra=[x29+8]; fp=[x29]", fn.SPDelta+8)
	return step, err
}

// stepLink leaves a function that has its return address in x30: only where
// nothing was called since (R10). Behind a call of morestack in a prologue the
// runtime has saved x30.
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

// injected undoes a signal handler's changes that make a function look called: it
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
