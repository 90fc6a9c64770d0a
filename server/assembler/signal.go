package assembler

import (
	"fmt"

	"github.com/clewdbg/clew/internal/unwind/callsite"
	"github.com/clewdbg/clew/unwind"
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

// Where the kernel saves registers, from SP on when the handler has returned.
//
// linux/amd64 (asm/ucontext.h, asm/sigcontext.h): SP points to the struct
// ucontext, whose uc_flags, uc_link and uc_stack take 40 bytes, then registers
// follow in this order. linux/arm64 (arch/arm64/kernel/signal.c, struct
// rt_sigframe): a struct siginfo of 128 bytes comes first; in struct ucontext
// 176 bytes are before the struct sigcontext, and in that 8 before x0 to x30, sp
// and pc.
const (
	amd64Saved = 40
	arm64Saved = 128 + 176 + 8
)

var amd64SavedOrder = []unwind.Register{8, 9, 10, 11, 12, 13, 14, 15, 5 /*rdi*/, 4, /*rsi*/
	unwind.AMD64RBP, unwind.AMD64RBX, 1 /*rdx*/, 0 /*rax*/, 2 /*rcx*/, unwind.AMD64RSP, unwind.AMD64RIP}

var arm64SavedOrder = func() (out []unwind.Register) {
	for r := unwind.Register(0); r <= 30; r++ {
		out = append(out, r)
	}
	return append(out, unwind.ARM64SP, unwind.ARM64PC)
}()

// isSignalFrame says that pc is where a signal handler returns to. The kernel's
// own copy of the instructions may be in no image (qemu's is in none).
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
	base, order := uint64(amd64Saved), amd64SavedOrder
	if t.Arch == unwind.ARM64 {
		base, order = arm64Saved, arm64SavedOrder
	}
	step = unwind.Step{CallerKind: unwind.KindInstruction, Trust: unwind.TrustCFI, Note: "interrupted by a signal"}
	at := make(map[unwind.Register]uint64, 3)
	for i, reg := range order {
		at[reg] = base + 8*uint64(i)
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
