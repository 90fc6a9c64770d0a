package assembler

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/clewdbg/clew/unwind"
)

// outermost are Go functions at which a stack ends cleanly (R8). Go's tables mark
// most of them too (FuncFlag TopFrame). The code map knows where C's stacks end
// ([Function.Outermost]): it knows the image, and any function may have such a name.
var outermost = map[string]string{
	"runtime.goexit": "goroutine's start",
	"runtime.rt0_go": "program's start",
	"runtime.mstart": "Go thread's start",
}

// injectsCall are Go functions that a signal handler has made look called: the
// frame below holds the address of the instruction that failed, not a return
// address (runtime/signal_amd64.go, preparePanic); or that of the instruction to
// go on with (asyncPreempt; pushCall).
var injectsCall = map[string]bool{"runtime.sigpanic": true, "runtime.sigpanic0": true, "runtime.asyncPreempt": true}

// notOutermost are functions that Go's tables mark as outermost for the runtime's
// own tracebacks, although they have a caller: the code that the signal
// interrupted is below its handler.
var notOutermost = map[string]bool{"runtime.sigtramp": true, "runtime.cgoSigtramp": true}

// endReason returns the reason for an end if fn is a known outermost function,
// else "". A frame that stopped inside mstart's own first instructions is on the
// caller's stack still, so for these only a return address counts.
func endReason(fn Function, kind unwind.PCKind) string {
	if fn.Outermost && kind == unwind.KindReturn && !notOutermost[fn.Name] {
		return fn.Name
	}
	if why, ok := outermost[fn.Name]; ok && fn.Go && kind == unwind.KindReturn {
		return fn.Name + ": " + why
	}
	return ""
}

// stepGo leaves a Go frame by Go's tables. mayswitch is set if the rule is that
// of a stack switch. Only amd64 and arm64 have rules; elsewhere the other
// strategies and Delve's claims serve.
func (t *Target) stepGo(regs *unwind.Registers, fn Function, kind unwind.PCKind) (step unwind.Step, mayswitch bool, err error) {
	m := machineOf(t.Arch)
	if m.stepGo == nil {
		return step, false, fmt.Errorf("no rule for Go frames on %s", t.Arch)
	}
	sp, ok := regs.SP(t.Arch)
	if !ok {
		return step, false, fmt.Errorf("stack pointer unknown")
	}
	fp, haveFP := regs.FP(t.Arch)
	switch switched := t.switched(regs, fn, kind); {
	case switched && !haveFP:
		return step, false, fmt.Errorf("frame pointer unknown at %s, where the stack is switched", fn.Name)
	case switched:
		step, err = m.stepFP(t, fn, fp)
		return step, true, err
	case !fn.HasSPDelta:
		return step, false, fmt.Errorf("no stack size in Go's tables for %s at this address", fn.Name)
	}
	step, err = m.stepGo(t, regs, fn, sp, kind)
	if injectsCall[fn.Name] {
		step.CallerKind = unwind.KindInstruction
	}
	return step, false, err
}

// switched reports whether fn has gone to another stack, or may have, and keeps
// its frame pointer meanwhile: SP may be on either stack then.
func (t *Target) switched(regs *unwind.Registers, fn Function, kind unwind.PCKind) bool {
	if way := switchOf(fn); way != keepsFP && way != savesDepth {
		return false
	}
	_, haveFP := regs.FP(t.Arch)
	pc, _ := regs.PC(t.Arch)
	return kind == unwind.KindReturn || haveFP && t.framed(fn, pc)
}

// framed reports whether the frame pointer is that of fn's frame at pc: behind
// the instruction of the prologue that sets it, and before the epilogue restores
// it. Between them SP may be on either stack. Test: in integration,
// TestEveryInstruction.
func (t *Target) framed(fn Function, pc uint64) bool {
	if !fn.HasSPDelta || fn.SPDelta < 8 || pc <= fn.Start {
		return false
	}
	code := t.Code.Bytes(fn.Start, int(min(pc-fn.Start, 32)))
	return slices.ContainsFunc(machineOf(t.Arch).setFP, func(sets []byte) bool { return bytes.Contains(code, sets) })
}

// stepRecord makes the step out of a frame whose return address lies at raSlot;
// the caller's frame pointer lies at fpSlot, or is that of regs where fpSlot is
// 0.
func (t *Target) stepRecord(regs *unwind.Registers, cfa, raSlot, fpSlot uint64) (unwind.Step, error) {
	step := unwind.Step{CFA: cfa, CallerKind: unwind.KindReturn, Trust: unwind.TrustCFI}
	ra, err := t.word(raSlot)
	if err != nil {
		return step, err
	}
	step.Caller.Set(t.Arch.PC(), ra)
	step.Caller.Set(t.Arch.SP(), cfa)
	// Go's ABI has no callee-saved registers but the frame pointer: all others
	// are lost.
	if fpSlot != 0 {
		v, err := t.word(fpSlot)
		if err != nil {
			return step, err
		}
		step.Caller.Set(t.Arch.FP(), v)
	} else if fp, ok := regs.FP(t.Arch); ok {
		step.Caller.Set(t.Arch.FP(), fp)
	}
	return step, nil
}

// stepOddFrame leaves a Go frame whose frame pointer is not where the compiler
// puts it, by simulating the function's instructions; ok is false where the
// simulation is not certain.
func (t *Target) stepOddFrame(regs *unwind.Registers, fn Function, cfa uint64) (step unwind.Step, fp string, ok bool) {
	pc, _ := regs.PC(t.Arch)
	if !fn.bounded() || pc < fn.Start {
		return step, "", false
	}
	rule := simulate(t.Arch, true, t.Code.Bytes(fn.Start, int(fn.End-fn.Start)), fn.Start, pc)
	if !rule.certain() {
		return step, "", false
	}
	if step, ok = t.stepByRule(rule, cfa); !ok {
		return step, "", false
	}
	fp, ok = rule.restoreFP(t, &step, regs)
	if !ok && fp != fpUnchanged {
		return step, "", false
	}
	rule.restoreSaved(t, &step)
	return step, fp, true
}

// stepByRule makes the step out of a frame whose CFA is known, by the simulated
// rule for the return address.
func (t *Target) stepByRule(rule *codeRule, cfa uint64) (unwind.Step, bool) {
	off, ok := rule.raOffset()
	if !ok {
		return unwind.Step{}, false
	}
	step, err := t.stepRecord(&unwind.Registers{}, cfa, cfa+uint64(off), 0)
	return step, err == nil
}
