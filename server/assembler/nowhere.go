package assembler

import (
	"fmt"

	"github.com/clewdbg/clew/unwind"
)

// A program that calls through a pointer that is none stops with its program
// counter where no code is. Nothing there has run: the caller's address lies where
// the call has left it.
//
// Situation: a call through a function pointer that was freed, overwritten or never
// set. Example: SIGSEGV with the program counter in the heap. What handles it: such
// an interrupted program counter is believed if it is what the processor could not
// fetch an instruction from (fetchFailed; below 4096 always, as a null pointer), and
// left by the word at SP, if a call through a register or pointer ends there
// (stepNowhere; below 4096 strategies do the same). Tests: TestCallToNowhere; in
// integration, TestWildCall.

const noteNowhere = "no code is there: taken as a call to it, whose return address lies where the stack pointer points"

// What the kernel saves of a fault on linux/amd64, behind the registers (struct
// sigcontext in asm/sigcontext.h: trapno and cr2), from SP on as [amd64Saved].
const (
	amd64Trap  = amd64Saved + 8*20
	amd64Fault = amd64Saved + 8*22
	pageFault  = 14 // Intel SDM volume 3, table 6-1
)

// fetchFailed says that the signal whose trampoline's frame is at sp came from
// fetching an instruction at pc.
func (j *judge) fetchFailed(sp, pc uint64) bool {
	t := j.target
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

// nowhere says that a frame's program counter lies where no code is.
func (w *walker) nowhere(f *unwind.Frame) bool {
	pc := f.PC.Raw()
	return f.PC.Kind() == unwind.KindInstruction && (pc < lowestPC || w.target.Executable != nil && !w.target.Executable.Contains(pc))
}

// stepNowhere leaves such a frame.
func (w *walker) stepNowhere() bool {
	f, arch := w.last(), w.target.Arch
	if arch != unwind.AMD64 || f.PC.Raw() < lowestPC || !w.nowhere(f) {
		return false
	}
	sp, _ := f.Registers.SP(arch)
	ra, err := w.target.word(sp)
	if err != nil {
		w.refuse(strategySignal, err.Error(), 0, 0)
		return false
	}
	step := unwind.Step{CFA: sp + 8, Caller: f.Registers, CallerKind: unwind.KindReturn, Trust: unwind.TrustScan, Note: noteNowhere,
		Rule: fmt.Sprintf("cfa=rsp+8; ra=[cfa-8]; fp=%s", fpUnchanged)}
	step.Caller.Set(arch.PC(), ra)
	step.Caller.Set(arch.SP(), sp+8)
	if calls, known := w.callsBefore(&step); !known || len(calls) == 0 {
		w.refuse(strategySignal, fmt.Sprintf("no call ends at return address %#x", ra), ra, step.CFA)
		return false
	}
	return w.take(strategySignal, &step, false)
}
