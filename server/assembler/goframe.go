package assembler

import (
	"bytes"
	"fmt"

	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
)

// outermost are Go functions at which a stack ends cleanly (R8). Go's tables mark
// most of them too (FuncFlag TopFrame). Where C's stacks end the code map says
// ([Function.Outermost]): it knows the image, and the name alone is anybody's.
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
// own tracebacks, and that have a caller all the same: below a signal handler is
// what the signal interrupted.
var notOutermost = map[string]bool{"runtime.sigtramp": true, "runtime.cgoSigtramp": true}

// endReason says that fn is a known outermost function, "" if not. A frame that
// stopped inside mstart's own first instructions is on the caller's stack still,
// so for these only a return address counts.
func endReason(fn Function, kind unwind.PCKind) string {
	if fn.Outermost && kind == unwind.KindReturn && !notOutermost[fn.Name] {
		return fn.Name
	}
	if why, ok := outermost[fn.Name]; ok && fn.Go && kind == unwind.KindReturn {
		return fn.Name + ": " + why
	}
	return ""
}

// stepGo leaves a Go frame by Go's tables. mayswitch is set when the rule is
// that of a stack switch. Only amd64 and arm64 have rules; elsewhere the other
// strategies and Delve's claims serve.
func (t *Target) stepGo(regs *unwind.Registers, fn Function, kind unwind.PCKind) (step unwind.Step, mayswitch bool, err error) {
	if t.Arch != unwind.AMD64 && t.Arch != unwind.ARM64 {
		return step, false, fmt.Errorf("no rule for Go frames on %s", t.Arch)
	}
	sp, ok := regs.SP(t.Arch)
	if !ok {
		return step, false, fmt.Errorf("stack pointer unknown")
	}
	if way := switchOf(fn); way == keepsFP || way == savesDepth {
		fp, haveFP := regs.FP(t.Arch)
		pc, _ := regs.PC(t.Arch)
		if kind == unwind.KindReturn || haveFP && t.framed(fn, pc) {
			if !haveFP {
				return step, false, fmt.Errorf("frame pointer unknown at %s, where the stack is switched", fn.Name)
			}
			step, err = t.stepFromFrame(fn, fp)
			return step, true, err
		}
	}
	if !fn.HasSPDelta {
		return step, false, fmt.Errorf("no stack size in Go's tables for %s at this address", fn.Name)
	}
	if t.Arch == unwind.ARM64 {
		step, err = t.stepARM64(regs, fn, sp, kind)
	} else {
		step, err = t.stepAMD64(regs, fn, sp, kind)
	}
	if injectsCall[fn.Name] {
		step.CallerKind = unwind.KindInstruction
	}
	return step, false, err
}

// stepFromFrame leaves the frame of a function of the runtime's, past its
// prologue, by its frame pointer alone: SP may be on another stack.
func (t *Target) stepFromFrame(fn Function, fp uint64) (unwind.Step, error) {
	if t.Arch == unwind.AMD64 {
		step, err := t.stepRecord(nil, fp+16, fp+8, fp)
		step.Rule = "cfa=rbp+16; ra=[cfa-8]; fp=[cfa-16]"
		return step, err
	}
	if fn.SPDelta < 16 {
		return unwind.Step{}, fmt.Errorf("no stack size in Go's tables for %s at this address", fn.Name)
	}
	step, err := t.stepRecord(nil, fp+8+uint64(fn.SPDelta), fp+8, fp)
	step.Rule = fmt.Sprintf("cfa=x29+%d; ra=[x29+8]; fp=[x29]", fn.SPDelta+8)
	return step, err
}

// framed says that the frame pointer is that of fn's own frame at pc: behind the
// instruction of the prologue that sets it, and before the epilogue restores it.
// Between them SP may be on either stack. Test: in integration,
// TestEveryInstruction.
func (t *Target) framed(fn Function, pc uint64) bool {
	if !fn.HasSPDelta || fn.SPDelta < 8 || pc <= fn.Start {
		return false
	}
	code := t.Code.Bytes(fn.Start, int(min(pc-fn.Start, 32)))
	if t.Arch == unwind.ARM64 {
		return bytes.Contains(code, []byte{0xfd, 0x23, 0x00, 0xd1}) // sub $8,sp,x29
	}
	return bytes.Contains(code, []byte{0x48, 0x89, 0xe5}) || // mov %rsp,%rbp
		bytes.Contains(code, []byte{0x48, 0x8d, 0x6c, 0x24}) // lea N(%rsp),%rbp
}

// stepRecord makes the step out of a frame whose return address lies at raSlot;
// the caller's frame pointer lies at fpSlot, or is regs' own where that is 0.
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
// puts it, by simulating the function's own instructions; ok is false where
// they leave a doubt.
//
// Situation: assembly that saves registers itself. Example: crosscall2, which C
// calls to get into Go, saves rbp twice (on arm64 it has its frame record at an
// end of its own), and all of C's callee-saved registers, which C's own frames
// are then left by. Tests: TestCrosscall2; in integration, TestARM64.
func (t *Target) stepOddFrame(regs *unwind.Registers, fn Function, cfa uint64) (step unwind.Step, fp string, ok bool) {
	pc, _ := regs.PC(t.Arch)
	if fn.End <= fn.Start || pc < fn.Start || fn.End-fn.Start > maxCode {
		return step, "", false
	}
	simulate := prologue.AMD64CallingGo
	if t.Arch == unwind.ARM64 {
		simulate = prologue.ARM64
	}
	rule, verdict := simulate(t.Code.Bytes(fn.Start, int(fn.End-fn.Start)), fn.Start, pc)
	if verdict.Kind == prologue.Unknown || rule.Certain != prologue.Exact || rule.RA.Kind != prologue.AtCFA {
		return step, "", false
	}
	step, err := t.stepRecord(&unwind.Registers{}, cfa, cfa+uint64(rule.RA.Off), 0)
	if err != nil {
		return step, "", false
	}
	switch rule.FP.Kind {
	case prologue.Same:
		fp = fpUnchanged
		if v, ok := regs.FP(t.Arch); ok {
			step.Caller.Set(t.Arch.FP(), v)
		}
	case prologue.AtCFA:
		if fp, ok = fmt.Sprintf("[cfa%+d]", rule.FP.Off), t.restore(&step, t.Arch.FP(), cfa, rule.FP); !ok {
			return step, "", false
		}
	default:
		return step, "", false
	}
	for _, s := range rule.Saved[:rule.N] {
		t.restore(&step, unwind.Register(s.Reg), cfa, s.Loc)
	}
	return step, fp, true
}

// restore reads a register that a frame saved at a distance from its CFA.
func (t *Target) restore(step *unwind.Step, reg unwind.Register, cfa uint64, at prologue.Loc) bool {
	if at.Kind != prologue.AtCFA {
		return false
	}
	v, err := t.word(cfa + uint64(at.Off))
	if err != nil {
		return false
	}
	step.Caller.Set(reg, v)
	return true
}
