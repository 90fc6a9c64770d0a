package assembler

import (
	"fmt"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/callsite"
)

// A handler of a signal returns into a few instructions that ask the kernel to
// restore what it interrupted ([callsite.IsSignalReturn]). No call led there, so
// no table need describe it, and its return address must be looked up as it is
// (R9).
//
// Situation: a Go program's own handler (runtime.sigtramp) or C's, on its own
// stack. Example: SIGSEGV in C code ends in runtime.fatalthrow on the signal
// stack, below it the C frame that failed. What handles it: stepSignal, from
// the registers that the kernel saved. Tests: TestSignalFrame and the
// integration tests' SIGSEGV in C.

// Offsets in the kernel's struct ucontext on linux/amd64 (asm/ucontext.h,
// asm/sigcontext.h): uc_flags, uc_link and uc_stack take 40 bytes, then the
// registers follow in this order. SP points to the structure when the handler
// has returned.
const ucontextRegisters = 40

var sigcontextOrder = []unwind.Register{8, 9, 10, 11, 12, 13, 14, 15, 5 /*rdi*/, 4, /*rsi*/
	unwind.AMD64RBP, unwind.AMD64RBX, 1 /*rdx*/, 0 /*rax*/, 2 /*rcx*/, unwind.AMD64RSP, unwind.AMD64RIP}

// isSignalFrame says that pc is where a signal handler returns to.
func (t *Target) isSignalFrame(pc uint64) bool {
	if t.Arch != unwind.AMD64 || t.OS != "linux" {
		return false
	}
	return callsite.IsSignalReturn(t.Arch, t.Code.Bytes(pc, callsite.SignalReturnSize))
}

// moveSize is the size of the trampoline's first instruction on linux/amd64 (mov
// $15,%rax); the second one is the system call.
const moveSize = 7

// inSignalFrame says that the instruction at pc is one of the trampoline's: a
// handler was stepped out of, or another signal came just then.
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
	base := sp + ucontextRegisters
	step = unwind.Step{
		CallerKind: unwind.KindInstruction, Trust: unwind.TrustCFI,
		Rule: fmt.Sprintf("cfa=[rsp+%d]; ra=[rsp+%d]; fp=[rsp+%d]", sigOffset(unwind.AMD64RSP), sigOffset(unwind.AMD64RIP), sigOffset(unwind.AMD64RBP)),
		Note: "interrupted by a signal",
	}
	for i, reg := range sigcontextOrder {
		v, err := t.word(base + 8*uint64(i))
		if err != nil {
			return step, err
		}
		step.Caller.Set(reg, v)
	}
	step.CFA, _ = step.Caller.SP(t.Arch) // the CFA is the SP that is restored
	return step, nil
}

func sigOffset(reg unwind.Register) int {
	for i, r := range sigcontextOrder {
		if r == reg {
			return ucontextRegisters + 8*i
		}
	}
	return 0
}
