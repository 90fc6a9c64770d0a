package assembler

import (
	"context"
	"fmt"

	"github.com/clewdbg/clew/internal/unwind/callsite"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// A handler of a signal returns into a few instructions that ask the kernel to
// restore the interrupted context ([callsite.IsSignalReturn]). No call led
// there, so no table need describe it, and its return address is looked up as it
// is (R9).

// signalReturn reports whether signal handlers return to pc. The kernel's copy of the
// instructions may lie outside all images (qemu's does).
func (p *program) signalReturn(pc uint64) bool {
	return p.target.OS == "linux" && callsite.IsSignalReturn(p.target.Arch, p.code(pc, callsite.SignalReturnSize))
}

// moveSize is the size of the trampoline's first instruction, which moves the number of
// the system call that is the second one.
func moveSize(arch unwind.Arch) uint64 {
	if arch == unwind.ARM64 {
		return 4
	}
	return 7
}

// signalFrame reports whether a frame is that of a signal's trampoline. One that stands there
// may be at either instruction: the program has stepped out of a handler, or another signal
// came at that moment.
func (p *program) signalFrame(f *unwind.Frame) bool {
	pc := f.PC.Raw()
	return p.signalReturn(pc) || f.PC.Kind() != unwind.KindReturn && p.signalReturn(pc-moveSize(p.target.Arch))
}

// strategySignal names the host's rule for signal trampolines.
const strategySignal = unwind.StrategyRegisters

// leaveSignal goes from the frame of a signal's trampoline to the code that the
// signal interrupted.
func (w *walker) leaveSignal(_ context.Context) outcome {
	f := w.last()
	if !w.code.signalFrame(f) {
		return nothing
	}
	if _, known := f.Registers.SP(w.target.Arch); !known {
		sp, ok := w.code.contextByRecord(f)
		if !ok { // the kernel's record has the interrupted link register, which says nothing
			return w.truncate("where the context lies that a signal has interrupted is not known")
		}
		f.Registers.Set(w.target.Arch.SP(), sp)
	}
	step := w.hostStep(&machineOf(w.target.Arch).signal)
	if step == nil {
		return nothing
	}
	step.Note = "interrupted by a signal"
	return w.take(candidate{step: step, strategy: strategySignal, trust: unwind.TrustCFI, switches: true})
}

// The frame of a signal's handler on linux/arm64 (arch/arm64/kernel/signal.c): struct
// rt_sigframe, larger where the registers do not fit in, and above it a frame record that
// x29 points to in the handler, with the interrupted x29 and x30.
const (
	arm64Context    = 128 + 176 + 8 // where x0 is, see arm64.signal
	arm64SignalSize = 4688
	arm64SignalMost = 64 << 10 // more than all registers of SVE and SME take
)

// contextByRecord finds the stack pointer of a signal's trampoline by the record that the
// kernel has put above: both have the same x29 and x30.
func (p *program) contextByRecord(f *unwind.Frame) (sp uint64, ok bool) {
	fp, known := f.Registers.FP(p.target.Arch)
	if p.target.Arch != unwind.ARM64 || !known || fp < arm64SignalMost {
		return 0, false
	}
	x29, ok1 := p.word(fp)
	x30, ok2 := p.word(fp + 8)
	if x29 == 0 && x30 == 0 {
		return 0, false // unused memory has the same
	}
	for sp = fp - arm64SignalSize; ok1 && ok2 && fp-sp <= arm64SignalMost; sp -= 16 {
		saved, ok := p.word(sp + arm64Context + 29*8)
		if !ok {
			break
		}
		if lr, ok := p.word(sp + arm64Context + 30*8); ok && saved == x29 && lr == x30 {
			return sp, true
		}
	}
	return 0, false
}

// hostStep makes the step out of the last frame by a rule of the host, nil if that is
// impossible.
func (w *walker) hostStep(r *rule.Rule) *unwind.Step {
	f, step := w.last(), &w.room.step
	if err := w.code.stepBy(r, &f.Registers, f.PC.Kind(), step); err != nil {
		w.refuse(byHost, strategySignal, err.Error(), 0, 0)
		return nil
	}
	return step
}

const (
	noteWild      = "no code is there: taken as a call to it, whose return address lies where the stack pointer points"
	noteWildARM64 = "no code is there: taken as a call to it, whose return address is in x30"
)

// fetchFailed reports whether the signal whose trampoline's frame is at sp came
// from fetching an instruction at pc.
func (t *Target) fetchFailed(sp, pc uint64) bool {
	switch {
	case t.OS != "linux":
		return false
	case t.Arch == unwind.ARM64:
		return t.fetchFailedARM64(sp, pc)
	case t.Arch != unwind.AMD64:
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
// call has left it (R6). Below 4096 strategies do the same.
func (w *walker) stepWild(_ context.Context) outcome {
	f, arch := w.last(), w.target.Arch
	if arch != unwind.AMD64 && arch != unwind.ARM64 || f.PC.Raw() < unwind.LowestCode || !w.code.wild(f) {
		return nothing
	}
	entry := rule.Entry(arch)
	step := w.hostStep(&entry)
	if step == nil {
		return nothing
	}
	step.Trust, step.Note = unwind.TrustScan, noteWild
	if arch == unwind.ARM64 {
		step.Note = noteWildARM64
	}
	ra, _ := step.Caller.PC(arch)
	if calls, known := w.code.callsBefore(ra); !known || len(calls) == 0 {
		w.refuse(byCall, strategySignal, fmt.Sprintf("no call ends at return address %#x", ra), ra, step.CFA)
		return nothing
	}
	return w.take(candidate{step: step, strategy: strategySignal, trust: unwind.TrustCFI})
}
