package assembler

import (
	"fmt"
	"strings"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

var arm64 = machine{
	notCode: "is above the user address space",
	// Layout of the registers that the kernel saves (arch/arm64/kernel/signal.c,
	// struct rt_sigframe): a struct siginfo of 128 bytes comes first; in struct
	// ucontext 176 bytes are before the struct sigcontext, and in that 8 before x0 to
	// x30, sp and pc.
	signal: signalRule(unwind.ARM64, arm64Context, func() (saved []unwind.Register) {
		for r := unwind.Register(0); r <= 30; r++ {
			saved = append(saved, r)
		}
		return append(saved, unwind.ARM64SP, unwind.ARM64PC)
	}()),
	tables: tablesARM64,
	record: recordARM64,
	setFP:  [][]byte{{0xfd, 0x23, 0x00, 0xd1}}, // sub $8,sp,x29
}

// Layout of what says why a signal came (struct sigcontext, and asm/sigcontext.h): the fault's
// address lies before the registers; behind them, from a multiple of 16 on, lie records of
// registers, each with its magic number and its size, of which one has the exception's syndrome.
const (
	arm64Siginfo = 128 // comes before the struct ucontext
	arm64Fault   = arm64Context - 8
	arm64Records = arm64Fault + 288
	arm64Room    = 4096 // of the records that lie there themselves
	esrMagic     = 0x45535201
	// The syndrome's class (Arm ARM, ESR_EL1.EC): no instruction could be fetched.
	classShift   = 26
	classAbort   = 0x20 // from there
	classAligned = 0x22 // for the address is no multiple of 4
)

// fetchFailedARM64 reports whether the signal whose trampoline's frame is at sp came from fetching
// an instruction at pc. What a thread's last fault was stays in the frames of later signals, so that
// the address must be that of the fault.
func (t *Target) fetchFailedARM64(sp, pc uint64) bool {
	class, ok := t.faultClass(sp)
	switch {
	case !ok:
		return false
	case class == classAligned: // the kernel does not tell the address
		return pc%4 != 0
	case class != classAbort:
		return false
	}
	fault, err := t.word(sp + arm64Fault)
	return err == nil && fault == pc
}

// faultClass is the class of the exception that a signal came from.
func (t *Target) faultClass(sp uint64) (class uint64, ok bool) {
	esr, ok := t.syndrome(sp)
	return esr >> classShift & 0x3f, ok
}

// FaultARM64 returns what the kernel has noted of a thread's last exception in a signal's context, whose
// address the handler was passed: the address of the fault, without a tag, and the syndrome. Those
// of an earlier exception stay there.
func (t *Target) FaultARM64(context uint64) (address, syndrome uint64, ok bool) {
	sp := context - arm64Siginfo
	if syndrome, ok = t.syndrome(sp); !ok {
		return 0, 0, false
	}
	address, err := t.word(sp + arm64Fault)
	return address, syndrome, err == nil
}

// syndrome is that of the exception that a signal came from, whose trampoline's frame is at sp.
func (t *Target) syndrome(sp uint64) (esr uint64, ok bool) {
	for at := sp + arm64Records; at < sp+arm64Records+arm64Room; {
		head, err := t.word(at) // little-endian, like the machine
		magic, size := uint32(head), head>>32
		if err != nil || magic == 0 || size < 16 || size%16 != 0 {
			return 0, false
		}
		if magic == esrMagic {
			esr, err = t.word(at + 8)
			return esr, err == nil
		}
		at += size
	}
	return 0, false
}

// pushedLR is where a signal handler that makes a function look called has pushed
// x30; it puts the interrupted PC there (runtime/signal_arm64.go, pushCall and
// preparePanic).
var pushedLR = []rule.Saved{{Register: unwind.ARM64LR, Value: rule.AtCFA(-16)}}

// passedLR is the return address of the function whose prologue has called morestack, while
// that is innermost: prologues pass it in x3 (asm_arm64.s, morestack).
func (g *goFrame) passedLR() (uint64, bool) {
	if g.target.Arch != unwind.ARM64 || g.frame.PC.Kind() != unwind.KindInstruction || !strings.HasPrefix(g.fn.Name, "runtime.morestack") {
		return 0, false
	}
	return g.frame.Registers.Get(3)
}

// calledItself says that x30 is from a call that the innermost function itself has made.
func (g *goFrame) calledItself() bool {
	lr, ok := g.frame.Registers.Get(unwind.ARM64LR)
	if g.target.Arch != unwind.ARM64 || g.frame.PC.Kind() != unwind.KindInstruction || !ok || lr <= g.fn.Start || lr >= g.fn.End {
		return false
	}
	callee := g.directCallee(lr)
	return callee.known && callee.Start != g.fn.Start
}

// tablesARM64 is the rule of a Go frame on arm64 (R12; abi-internal.md, "arm64
// architecture"; cmd/internal/obj/arm64, preprocess). The tables hold SP's
// distance from its value at entry, which is the CFA. A frame has its return
// address at SP and the caller's frame pointer right below, where x29 points to.
// A function without a frame, or outside of it, has its return address in x30.
func tablesARM64(g *goFrame) (rule.Rule, error) {
	const sp = unwind.ARM64SP
	r := rule.Rule{Arch: unwind.ARM64, CFA: rule.In(sp, g.fn.SPDelta), RA: rule.At(sp, 0), FP: rule.At(sp, -8)}
	fp, known := g.frame.Registers.FP(unwind.ARM64)
	switch {
	case g.fn.SPDelta == 0:
		r.RA, r.FP = rule.Value{From: rule.Same}, rule.Value{From: rule.Same}
		if g.calledItself() {
			return r, fmt.Errorf("%s has overwritten its return address by a call of its own", g.fn.Name)
		}
		return r, nil
	case known && fp == g.sp-8: // the ordinary frame
	case !known && !g.fn.Asm && g.frame.PC.Kind() == unwind.KindReturn: // it too: the compiler makes no other
	default:
		if odd, ok := g.oddFrame(r.CFA); ok {
			return odd, nil
		}
		if g.frame.PC.Kind() == unwind.KindReturn || g.fn.Asm {
			return r, fmt.Errorf("%s keeps no frame record where x29 points to", g.fn.Name)
		}
		// In the prologue, between storing the return address and setting x29, or in
		// the epilogue: x29 is the caller's.
		r.FP = rule.Value{From: rule.Same}
	}
	if injectsCall[g.fn.Name] {
		r.CFA.Offset += 16
		r.Saved = pushedLR
	}
	return r, nil
}

// recordARM64 is the rule of a frame by x29 alone.
func recordARM64(g *goFrame) (rule.Rule, error) {
	const fp = unwind.ARM64FP
	if g.fn.SPDelta < 16 {
		return rule.Rule{}, g.noStackSize()
	}
	return rule.Rule{Arch: unwind.ARM64, CFA: rule.In(fp, g.fn.SPDelta+8), RA: rule.At(fp, 8), FP: rule.At(fp, 0)}, nil
}
