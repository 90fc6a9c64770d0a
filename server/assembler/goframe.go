package assembler

import (
	"fmt"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/prologue"
)

// Rules for Go frames on amd64, as equations. See "Go on amd64" in the
// internal ABI document (abi-internal.md, "Architecture specifics") and rule
// R13: the tables give SP's distance from its value at entry, exactly, for
// every PC; the frame pointer is saved right below the return address.
const (
	ruleGoSwitch = "cfa=rbp+16; ra=[cfa-8]; fp=[cfa-16]"
	fpSaved      = "[cfa-16]"
	fpUnchanged  = "unchanged"
)

// stackSwitches are the runtime's functions that change SP to another stack and
// keep rbp pointing at their own frame on the stack they came from, so that
// the chain of frame pointers crosses the switch (R14; runtime/asm_amd64.s, Go
// 1.21 and later, "The original frame pointer is stored in BP, which is useful
// for stack unwinding"). Their SP deltas do not describe the code behind the
// switch.
var stackSwitches = map[string]bool{
	"runtime.asmcgocall":       true, // goroutine -> g0
	"runtime.cgocallback":      true, // g0 or thread -> goroutine
	"runtime.systemstack":      true, // goroutine -> g0
	"runtime.asmcgocall.abi0":  true,
	"runtime.cgocallback.abi0": true,
	"runtime.systemstack.abi0": true,
}

// outermost are the functions at which a stack ends cleanly (R8). Go's tables
// mark them too (FuncFlag TopFrame); the names serve where they do not.
var outermost = map[string]string{
	"runtime.goexit": "goroutine's start",
	"runtime.rt0_go": "program's start",
	"runtime.mstart": "Go thread's start",
	"runtime.mcall":  "scheduler's stack begins here",
	"_start":         "program's start",
	"clone":          "thread's start",
	"clone3":         "thread's start",
	"__clone":        "thread's start",
	"__clone3":       "thread's start",
	"start_thread":   "thread's start",
	"thread_start":   "thread's start",
}

// notOutermost are functions that Go's tables mark as outermost for the runtime's
// own tracebacks, and that have a caller all the same: below a signal handler is
// what the signal interrupted.
var notOutermost = map[string]bool{"runtime.sigtramp": true, "runtime.cgoSigtramp": true}

// endReason says that fn is a known outermost function, "" if not. A frame that
// stopped inside mstart's or mcall's own first instructions is on the caller's
// stack still, so for these only a return address counts.
func endReason(fn Function, kind unwind.PCKind) string {
	if fn.Outermost && kind == unwind.KindReturn && !notOutermost[fn.Name] {
		return fn.Name
	}
	if why, ok := outermost[fn.Name]; ok && kind == unwind.KindReturn {
		return fn.Name + ": " + why
	}
	return ""
}

// stepGo leaves a Go frame by Go's tables. mayswitch is set when the rule is
// that of a stack switch. Only amd64 has a rule; elsewhere the other strategies
// and Delve's claims serve.
func (t *Target) stepGo(regs *unwind.Registers, fn Function, kind unwind.PCKind) (step unwind.Step, mayswitch bool, err error) {
	if t.Arch != unwind.AMD64 {
		return step, false, fmt.Errorf("no rule for Go frames on %s", t.Arch)
	}
	sp, ok := regs.SP(t.Arch)
	if !ok {
		return step, false, fmt.Errorf("stack pointer unknown")
	}
	bp, haveBP := regs.FP(t.Arch)
	if stackSwitches[fn.Name] && (kind == unwind.KindReturn || haveBP && pastPrologue(fn)) {
		if !haveBP {
			return step, false, fmt.Errorf("frame pointer unknown at %s, where the stack is switched", fn.Name)
		}
		step, err = t.stepRecord(regs, bp+16, bp, true)
		step.Rule = ruleGoSwitch
		return step, true, err
	}
	if !fn.HasSPDelta {
		return step, false, fmt.Errorf("no stack size in Go's tables for %s at this address", fn.Name)
	}
	cfa := sp + uint64(fn.SPDelta) + 8
	where, fpSlot := fpUnchanged, uint64(0)
	switch {
	case fn.SPDelta < 8 || !haveBP:
	case bp == cfa-16: // the ordinary frame
		where, fpSlot = fpSaved, cfa-16
	default:
		if odd, rule, ok := t.stepOddFrame(regs, fn, cfa); ok {
			odd.Rule = fmt.Sprintf("cfa=rsp+%d; ra=[cfa-8]; fp=%s", fn.SPDelta+8, rule)
			return odd, false, nil
		}
		if t.framePointerSaved(cfa, bp, sp, kind) {
			where, fpSlot = fpSaved, cfa-16
		}
	}
	step, err = t.stepRecord(regs, cfa, fpSlot, fpSlot != 0)
	step.Rule = fmt.Sprintf("cfa=rsp+%d; ra=[cfa-8]; fp=%s", fn.SPDelta+8, where)
	return step, false, err
}

// stepOddFrame leaves a Go frame whose frame pointer is not where the compiler
// puts it, by simulating the function's own instructions; ok is false where
// they leave a doubt.
//
// Situation: assembly that saves registers itself. Example: crosscall2, which C
// calls to get into Go, saves rbp twice, and all of C's callee-saved registers,
// which C's own frames are then left by. Test: TestCrosscall2.
func (t *Target) stepOddFrame(regs *unwind.Registers, fn Function, cfa uint64) (step unwind.Step, fp string, ok bool) {
	pc, _ := regs.PC(t.Arch)
	if fn.End <= fn.Start || pc < fn.Start || fn.End-fn.Start > maxCode {
		return step, "", false
	}
	rule, verdict := prologue.AMD64CallingGo(t.Code.Bytes(fn.Start, int(fn.End-fn.Start)), fn.Start, pc)
	if verdict.Kind == prologue.Unknown || rule.Certain != prologue.Exact {
		return step, "", false
	}
	step, err := t.stepRecord(regs, cfa, 0, false)
	if err != nil {
		return step, "", false
	}
	switch rule.FP.Kind {
	case prologue.Same:
		fp = fpUnchanged
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

// pastPrologue says that a stop inside a switching function lies behind its
// "push rbp; mov rbp, rsp": from there on rbp is its own frame's.
func pastPrologue(fn Function) bool { return fn.HasSPDelta && fn.SPDelta > 8 }

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
// other rbp is scratch, and the saved one counts. Test: TestR13.
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

// stepRecord makes the step out of a frame whose return address lies right
// below its CFA; saved says that the caller's frame pointer is at fpSlot.
func (t *Target) stepRecord(regs *unwind.Registers, cfa, fpSlot uint64, saved bool) (unwind.Step, error) {
	step := unwind.Step{CFA: cfa, CallerKind: unwind.KindReturn, Trust: unwind.TrustCFI}
	ra, err := t.word(cfa - 8)
	if err != nil {
		return step, err
	}
	step.Caller.Set(t.Arch.PC(), ra)
	step.Caller.Set(t.Arch.SP(), cfa)
	// Go's ABI has no callee-saved registers but rbp: all others are lost.
	switch bp, ok := regs.FP(t.Arch); {
	case saved:
		v, err := t.word(fpSlot)
		if err != nil {
			return step, err
		}
		step.Caller.Set(t.Arch.FP(), v)
	case ok:
		step.Caller.Set(t.Arch.FP(), bp)
	}
	return step, nil
}
