package tablewalk

import (
	"context"
	"fmt"

	"github.com/clewdbg/clew/internal/unwind/walk"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// checkContext is the number of steps after which a walk checks its context.
const checkContext = 1024

// walker makes one walk.
type walker struct {
	walk.Walk
	strategy *Strategy
	state    *state

	frame  rule.Frame  // that is left next
	caller rule.Caller // where it is left to; its registers become the frame's
	regs   unwind.Registers
	// elsewhere: the caller runs on another stack than its callee, since a signal
	// interrupted it whose handler has a separate stack.
	elsewhere bool
}

// run fills in the result.
func (w *walker) run(ctx context.Context) error {
	w.regs = w.Request.Registers
	w.frame = rule.Frame{Registers: &w.regs, Kind: w.Request.Kind, Memory: w.Request.Stack, Segment: w.Request.Segment, PACMask: w.state.pacMask}
	for more := true; more; {
		more = w.step()
		if len(w.Result.Steps)%checkContext == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	if n := len(w.Result.Steps); n > 0 {
		w.Result.Steps[n-1].Caller = w.regs // the next strategy needs all of them
	}
	return nil
}

// step leaves one frame, and reports whether the walk goes on.
func (w *walker) step() bool {
	pc, ok := w.regs.PC(w.Arch)
	switch {
	case !ok:
		return w.Stop(unwind.StopNoRule, "the program counter is not known")
	case pc < unwind.LowestCode && w.frame.Kind == unwind.KindReturn:
		return w.Stop(unwind.StopEnd, "return address %#x lies below %d (R8)", pc, unwind.LowestCode)
	}
	found, err := w.state.rule(w.Arch, unwind.Code(pc, w.frame.Kind))
	switch {
	case err != nil:
		return w.Stop(unwind.StopNoRule, "%v", err)
	case found == nil:
		return w.Stop(unwind.StopNoRule, "no %s for code at %#x", w.strategy.Rules, pc)
	}
	if f := w.Request.Function; found.Settle != nil && f != nil && len(w.Result.Steps) == 0 {
		if settled := found.Settle(f, &w.regs); settled != nil {
			found = settled.write()
		}
	}
	if err := found.Apply(&w.frame, &w.caller); err != nil {
		return w.Failed(err, true)
	}
	if err := w.judge(found); err != nil {
		return w.Failed(err, true)
	}
	w.push(found)
	return w.goesOn()
}

// judge reports whether the caller can be (R3, as far as that is cheap: the host
// judges every step). A signal may have interrupted anything on any stack.
func (w *walker) judge(found *Rule) error {
	callerSP, callerKnown := w.caller.Registers.SP(w.Arch)
	if found.Signal && callerKnown {
		sp, spKnown := w.regs.SP(w.Arch)
		segment := w.Request.Segment
		w.elsewhere = spKnown && callerSP <= sp || segment.High != 0 && !segment.Contains(callerSP)
		return nil
	}
	if err := w.caller.CheckEnd(w.Arch); err != nil {
		return err
	}
	if err := w.frame.CheckStack(w.Arch, &w.caller); err != nil {
		return err
	}
	if err := w.caller.CheckCode(w.Arch); err != nil {
		return err
	}
	if n := len(w.Result.Steps); n > 0 && w.caller.CFA <= w.Result.Steps[n-1].CFA {
		ra, _ := w.caller.Registers.PC(w.Arch)
		return &rule.ImpossibleError{CFA: w.caller.CFA, PC: ra, Reason: fmt.Sprintf("CFA %#x does not increase", w.caller.CFA)}
	}
	return nil
}

// push adds a step and makes the caller the frame to be left next.
func (w *walker) push(found *Rule) {
	step := w.Push()
	step.CFA, step.CallerKind, step.Trust, step.Rule = w.caller.CFA, w.caller.Kind, w.strategy.Description.Trust, found.text
	step.Note = found.Note
	if found.Trust != unwind.TrustNone {
		step.Trust = found.Trust
	}
	if found.Doubt != "" {
		step.Trust, step.Note = unwind.TrustScan, found.Doubt
	}
	w.regs, w.frame.Kind = w.caller.Registers, w.caller.Kind
	if w.Request.AllRegisters {
		step.Caller, step.Rule = w.regs, found.whole
		return
	}
	for _, reg := range [...]unwind.Register{w.Arch.PC(), w.Arch.SP(), w.Arch.FP()} {
		if v, ok := w.regs.Get(reg); ok {
			step.Caller.Set(reg, v)
		}
	}
}

// goesOn reports after a step whether another may follow.
func (w *walker) goesOn() bool {
	pc, _ := w.regs.PC(w.Arch)
	return w.GoesOn(unwind.Code(pc, w.frame.Kind)) && (!w.elsewhere || w.Stop(unwind.StopNoRule, "a signal interrupted code on another stack"))
}
