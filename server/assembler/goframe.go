package assembler

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/clewdbg/clew/internal/unwind/simulate"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// injectsCall are Go functions that a signal handler has made look called: the
// frame below holds the address of the instruction that failed, not a return
// address (runtime/signal_amd64.go, preparePanic); or that of the instruction to
// go on with (asyncPreempt; pushCall).
var injectsCall = map[string]bool{"runtime.sigpanic": true, "runtime.sigpanic0": true, "runtime.asyncPreempt": true}

// notOutermost are functions that Go's tables mark as outermost for the runtime's
// own tracebacks, although they have a caller: the code that the signal
// interrupted is below its handler.
var notOutermost = map[string]bool{"runtime.sigtramp": true, "runtime.cgoSigtramp": true}

// by makes a step out of the frame by a rule.
func (g *goFrame) by(r *rule.Rule, regs *unwind.Registers) error {
	kind := g.frame.PC.Kind()
	// A call leaves its return address in the link register. Another value is one that
	// the runtime has saved, behind a call of morestack in a prologue.
	if lr, ok := regs.Get(g.target.Arch.LR()); ok && lr != g.frame.PC.Raw() {
		kind = unwind.KindInstruction
	}
	return g.stepBy(r, regs, kind, g.step)
}

// stepTables leaves the frame by Go's tables, or by its frame pointer where it has
// switched stacks. Only amd64 and arm64 have rules; elsewhere the other strategies
// and Delve's claims serve.
func (g *goFrame) stepTables() goWay {
	*g.step = unwind.Step{}
	m, switched := machineOf(g.target.Arch), g.switched()
	find := m.tables
	if switched {
		find = m.record
	}
	way := goWay{candidate: candidate{step: g.step, switches: switched}}
	switch {
	case find == nil:
		way.err = fmt.Errorf("no rule for Go frames on %s", g.target.Arch)
	case !switched && !g.fn.HasSPDelta:
		way.err = g.noStackSize()
	default:
		r, err := find(g)
		if way.err = err; err == nil {
			r.Signal = injectsCall[g.fn.Name]
			way.err = g.by(&r, &g.frame.Registers)
		}
		if lr, ok := g.passedLR(); ok && way.err == nil {
			g.step.Caller.Set(g.target.Arch.LR(), lr)
		}
	}
	return way
}

func (g *goFrame) noStackSize() error {
	return fmt.Errorf("no stack size in Go's tables for %s at this address", g.fn.Name)
}

// switched reports whether the function has gone to another stack, or may have, and
// keeps its frame pointer meanwhile: SP may be on either stack then.
func (g *goFrame) switched() bool {
	if g.way != keepsFP && g.way != savesDepth {
		return false
	}
	_, haveFP := g.frame.Registers.FP(g.target.Arch)
	return g.frame.PC.Kind() == unwind.KindReturn || haveFP && g.target.framed(g.fn, g.frame.PC.Raw())
}

// framed reports whether the frame pointer is that of fn's frame at pc: behind
// the instruction of the prologue that sets it, and before the epilogue restores
// it. Between them SP may be on either stack. Test: in integration,
// TestEveryInstruction.
func (t *Target) framed(fn *Function, pc uint64) bool {
	if !fn.HasSPDelta || fn.SPDelta < 8 || pc <= fn.Start {
		return false
	}
	code := t.Code.Bytes(fn.Start, int(min(pc-fn.Start, 32)))
	return slices.ContainsFunc(machineOf(t.Arch).setFP, func(sets []byte) bool { return bytes.Contains(code, sets) })
}

// oddFrame returns the rule of a frame whose frame pointer is not where the compiler
// puts it, by simulating the function's instructions. The tables know its CFA.
func (g *goFrame) oddFrame(cfa rule.Value) (r rule.Rule, ok bool) {
	if pc := g.frame.PC.Raw(); g.fn.bounded() && pc >= g.fn.Start {
		if row := g.certainRow(simulate.CallingGo, g.fn, pc); row != nil {
			r, ok = row.Rule, row.RA.From == rule.CFA && row.FP.From != rule.Lost
			r.CFA, r.Kept = cfa, false
		}
	}
	return r, ok
}
