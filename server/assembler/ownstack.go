package assembler

import (
	"fmt"

	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
)

// Some of the runtime's assembly goes to the system stack for one call of C, or
// aligns its stack for it, and keeps the old SP in a register that C preserves, or
// its frame in rbp. Go's tables say nothing of that: their SP deltas count from an
// SP that is gone.
//
// Situation: a stop in what such a function has called. Examples: time.now and
// runtime.nanotime1 in the vDSO, where programs that look at the clock are most of
// the time; racecall in the race detector's C++; runtime.sigfwd in a handler that
// C has installed. What handles it: the function's own code, simulated. It counts
// where SP is not what it says the frame is found by, and the register that is can
// be known. Tests: TestOwnStack; in integration, TestSwitches (clock).

// stepOwnStack leaves a frame of Go's assembly whose code has given up SP.
func (w *walker) stepOwnStack(fn Function) bool {
	f, arch := w.last(), w.target.Arch
	if !fn.Asm || fn.End <= fn.Start || fn.End-fn.Start > maxCode {
		return false
	}
	rule := w.simulate(fn, f.PC.Raw())
	if rule == nil || rule.CFA.Deref || unwind.Register(rule.CFA.Base) == arch.SP() || rule.RA.Kind != prologue.AtCFA {
		return false
	}
	base, ok := f.Registers.Get(unwind.Register(rule.CFA.Base))
	if !ok {
		return false
	}
	cfa := base + uint64(rule.CFA.Off)
	if sp, ok := f.Registers.SP(arch); ok && fn.HasSPDelta && arch == unwind.AMD64 && cfa == sp+uint64(fn.SPDelta)+8 {
		return false // what the tables say holds
	}
	step, err := w.target.stepRecord(&unwind.Registers{}, cfa, cfa+uint64(rule.RA.Off), 0)
	if err != nil {
		return false
	}
	step.Rule = fmt.Sprintf("cfa=%s%+d; ra=[cfa%+d]", arch.RegisterName(unwind.Register(rule.CFA.Base)), rule.CFA.Off, rule.RA.Off)
	switch rule.FP.Kind {
	case prologue.Same:
		if v, ok := f.Registers.FP(arch); ok {
			step.Caller.Set(arch.FP(), v)
			step.Rule += "; fp=" + fpUnchanged
		}
	case prologue.AtCFA:
		if w.target.restore(&step, arch.FP(), cfa, rule.FP) {
			step.Rule += fmt.Sprintf("; fp=[cfa%+d]", rule.FP.Off)
		}
	}
	return w.take(unwind.StrategyGopclntab, &step, true)
}
