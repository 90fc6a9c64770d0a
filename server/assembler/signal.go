package assembler

import (
	"context"
	"fmt"

	"github.com/clewdbg/clew/internal/unwind/callsite"
	"github.com/clewdbg/clew/unwind"
)

// A handler of a signal returns into a few instructions that ask the kernel to
// restore the interrupted context ([callsite.IsSignalReturn]). No call led
// there, so no table need describe it, and its return address is looked up as it
// is (R9).

// isSignalFrame reports whether a signal handler returns to pc. The kernel's
// copy of the instructions may lie outside all images (qemu's does).
func (t *Target) isSignalFrame(pc uint64) bool {
	if t.OS != "linux" {
		return false
	}
	code := t.Code.Bytes(pc, callsite.SignalReturnSize)
	if len(code) == 0 && t.Executable.Contains(pc) {
		code = make([]byte, callsite.SignalReturnSize)
		if t.Memory.ReadMemory(pc, code) != nil {
			return false
		}
	}
	return callsite.IsSignalReturn(t.Arch, code)
}

// moveSize is the size of the trampoline's first instruction on linux/amd64 (mov
// $15,%rax); the second one is the system call.
const moveSize = 7

// inSignalFrame reports whether the instruction at pc belongs to the
// trampoline: the program has stepped out of a handler, or another signal came
// at that moment.
func (t *Target) inSignalFrame(pc uint64) bool {
	return t.isSignalFrame(pc) || t.isSignalFrame(pc-moveSize)
}

// stepSignal goes from the frame of a signal's trampoline to the code that the
// signal interrupted.
func (t *Target) stepSignal(regs *unwind.Registers) (step unwind.Step, err error) {
	sp, ok := regs.SP(t.Arch)
	if !ok {
		return step, fmt.Errorf("stack pointer unknown")
	}
	m := machineOf(t.Arch)
	step = unwind.Step{CallerKind: unwind.KindInstruction, Trust: unwind.TrustCFI, Note: "interrupted by a signal"}
	at := make(map[unwind.Register]uint64, 3)
	for i, reg := range m.savedOrder {
		at[reg] = m.saved + 8*uint64(i)
		v, err := t.word(sp + at[reg])
		if err != nil {
			return step, err
		}
		step.Caller.Set(reg, v)
	}
	name := t.Arch.RegisterName(t.Arch.SP())
	step.Rule = fmt.Sprintf("cfa=[%s+%d]; ra=[%s+%d]; fp=[%s+%d]", name, at[t.Arch.SP()], name, at[t.Arch.PC()], name, at[t.Arch.FP()])
	step.CFA, _ = step.Caller.SP(t.Arch) // the CFA is the SP that is restored
	return step, nil
}

// strategySignal names the host's rule for signal trampolines.
const strategySignal = unwind.StrategyRegisters

// leaveSignal leaves the frame of a signal's trampoline.
func (w *walker) leaveSignal(_ context.Context) outcome {
	f := w.last()
	if !w.code.signalFrame(f) {
		return nothing
	}
	step, err := w.target.stepSignal(&f.Registers)
	if err != nil {
		w.refuse(strategySignal, err.Error(), 0, 0)
		return nothing
	}
	return w.take(candidate{step: &step, strategy: strategySignal, switches: true})
}

const noteWild = "no code is there: taken as a call to it, whose return address lies where the stack pointer points"

// fetchFailed reports whether the signal whose trampoline's frame is at sp came
// from fetching an instruction at pc.
func (t *Target) fetchFailed(sp, pc uint64) bool {
	if t.Arch != unwind.AMD64 || t.OS != "linux" {
		return false
	}
	trap, err := t.word(sp + amd64Trap)
	if err != nil || trap != pageFault {
		return false
	}
	fault, err := t.word(sp + amd64Fault)
	return err == nil && fault == pc
}

// stepWild leaves the frame of a program that has called through an invalid pointer:
// no code is there, nothing there has run, and the caller's address lies where the
// call has left it. Below 4096 strategies do the same.
func (w *walker) stepWild(_ context.Context) outcome {
	f, arch := w.last(), w.target.Arch
	if arch != unwind.AMD64 || f.PC.Raw() < unwind.LowestCode || !w.code.wild(f) {
		return nothing
	}
	sp, _ := f.Registers.SP(arch)
	ra, err := w.target.word(sp)
	if err != nil {
		w.refuse(strategySignal, err.Error(), 0, 0)
		return nothing
	}
	step := unwind.Step{CFA: sp + 8, Caller: f.Registers, CallerKind: unwind.KindReturn, Trust: unwind.TrustScan, Note: noteWild,
		Rule: fmt.Sprintf("cfa=rsp+8; ra=[cfa-8]; fp=%s", fpUnchanged)}
	step.Caller.Set(arch.PC(), ra)
	step.Caller.Set(arch.SP(), sp+8)
	if calls, known := w.code.callsBefore(&step); !known || len(calls) == 0 {
		w.refuse(strategySignal, fmt.Sprintf("no call ends at return address %#x", ra), ra, step.CFA)
		return nothing
	}
	return w.take(candidate{step: &step, strategy: strategySignal})
}
