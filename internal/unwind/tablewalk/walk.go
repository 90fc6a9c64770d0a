package tablewalk

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// checkContext is the number of steps after which a walk checks its context.
const checkContext = 1024

// A result has room for firstSteps steps at first, and for up to growSteps times
// as many each time that is not enough.
const (
	firstSteps = 32
	growSteps  = 8
)

// walker makes one walk.
type walker struct {
	strategy *Strategy
	request  *unwind.WalkRequest
	state    *state
	yield    unwind.RangeSet
	result   *unwind.WalkResult

	arch   unwind.Arch
	frame  rule.Frame  // that is left next
	caller rule.Caller // where it is left to; its registers become the frame's
	regs   unwind.Registers
	// elsewhere: the caller runs on another stack than its callee, since a signal
	// interrupted it whose handler has a separate stack.
	elsewhere bool
}

// walk fills in the result.
func (w *walker) walk(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.arch = w.request.Arch
	if !slices.Contains(w.strategy.Description.Arches, w.arch) {
		w.stop(unwind.StopNoRule, "no %s for %v", w.strategy.Rules, w.arch)
		return nil
	}
	w.regs = w.request.Registers
	w.frame = rule.Frame{Registers: &w.regs, Kind: w.request.Kind, Memory: w.request.Stack, Segment: w.request.Segment}
	if w.arch == unwind.ARM64 {
		w.frame.PACMask = w.state.pacMask
	}
	if w.request.MaxFrames < 1 {
		w.result.Stop = unwind.StopLimit
		return nil
	}
	for more := true; more; {
		more = w.step()
		if len(w.result.Steps)%checkContext == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	if n := len(w.result.Steps); n > 0 {
		w.result.Steps[n-1].Caller = w.regs // the next strategy needs all of them
	}
	return nil
}

// stop ends the walk. It returns false, for step and its like to return.
func (w *walker) stop(stop unwind.WalkStop, format string, args ...any) bool {
	w.result.Stop = stop
	w.result.Reason = fmt.Sprintf(format, args...)
	return false
}

// broken ends the walk where a rule's result is impossible.
func (w *walker) broken(cfa, pc uint64, format string, args ...any) bool {
	w.result.CFA, w.result.PC = cfa, pc
	return w.stop(unwind.StopBroken, format, args...)
}

// step leaves one frame, and reports whether the walk goes on.
func (w *walker) step() bool {
	pc, ok := w.regs.PC(w.arch)
	switch {
	case !ok:
		return w.stop(unwind.StopNoRule, "the program counter is not known")
	case pc < unwind.LowestCode && w.frame.Kind == unwind.KindReturn:
		return w.stop(unwind.StopEnd, "return address %#x lies below %d (R8)", pc, unwind.LowestCode)
	}
	found, err := w.state.rule(w.arch, unwind.Code(pc, w.frame.Kind))
	switch {
	case err != nil:
		return w.stop(unwind.StopNoRule, "%v", err)
	case found == nil:
		return w.stop(unwind.StopNoRule, "no %s for code at %#x", w.strategy.Rules, pc)
	}
	if f := w.request.Function; found.Settle != nil && f != nil && len(w.result.Steps) == 0 {
		if settled := found.Settle(f, &w.regs); settled != nil {
			found = settled.write()
		}
	}
	if err := found.Apply(&w.frame, &w.caller); err != nil {
		return w.failed(err)
	}
	if err := w.judge(found); err != nil {
		return w.failed(err)
	}
	w.push(found)
	return w.goesOn()
}

// failed ends the walk where a rule cannot be applied, or leads to no caller.
func (w *walker) failed(err error) bool {
	var memory *rule.MissingMemory
	var register *rule.MissingRegister
	var impossible *rule.ImpossibleError
	var end *rule.EndError
	switch {
	case errors.Is(err, rule.ErrOutermost):
		return w.stop(unwind.StopEnd, "%v", err)
	case errors.As(err, &end):
		w.result.CFA, w.result.PC = end.CFA, end.PC
		return w.stop(unwind.StopEnd, "%v", err)
	case errors.As(err, &memory):
		w.result.Stop, w.result.Need = unwind.StopMemory, memory.Range
		return false
	case errors.As(err, &register):
		return w.stop(unwind.StopNoRule, "%v", err)
	case errors.As(err, &impossible):
		return w.broken(impossible.CFA, impossible.PC, "%v", err)
	}
	return w.broken(0, 0, "%v", err)
}

// judge reports whether the caller can be (R3, as far as that is cheap: the host
// judges every step). A signal may have interrupted anything on any stack.
func (w *walker) judge(found *Rule) error {
	callerSP, callerKnown := w.caller.Registers.SP(w.arch)
	if found.Signal && callerKnown {
		sp, spKnown := w.regs.SP(w.arch)
		segment := w.request.Segment
		w.elsewhere = spKnown && callerSP <= sp || segment.High != 0 && !segment.Contains(callerSP)
		return nil
	}
	if err := w.caller.CheckEnd(w.arch); err != nil {
		return err
	}
	if err := w.frame.CheckStack(w.arch, &w.caller); err != nil {
		return err
	}
	if err := w.caller.CheckCode(w.arch); err != nil {
		return err
	}
	if n := len(w.result.Steps); n > 0 && w.caller.CFA <= w.result.Steps[n-1].CFA {
		ra, _ := w.caller.Registers.PC(w.arch)
		return &rule.ImpossibleError{CFA: w.caller.CFA, PC: ra, Reason: fmt.Sprintf("CFA %#x does not increase", w.caller.CFA)}
	}
	return nil
}

// push adds a step and makes the caller the frame to be left next.
func (w *walker) push(found *Rule) {
	n := len(w.result.Steps)
	if n == cap(w.result.Steps) {
		w.grow(n)
	}
	w.result.Steps = w.result.Steps[:n+1]
	step := &w.result.Steps[n]
	step.CFA, step.CallerKind, step.Trust, step.Rule = w.caller.CFA, w.caller.Kind, w.strategy.Description.Trust, found.text
	step.Note = found.Note
	if found.Trust != unwind.TrustNone {
		step.Trust = found.Trust
	}
	if found.Doubt != "" {
		step.Trust, step.Note = unwind.TrustScan, found.Doubt
	}
	w.regs, w.frame.Kind = w.caller.Registers, w.caller.Kind
	if w.request.AllRegisters {
		step.Caller = w.regs
		return
	}
	for _, reg := range [...]unwind.Register{w.arch.PC(), w.arch.SP(), w.arch.FP()} {
		if v, ok := w.regs.Get(reg); ok {
			step.Caller.Set(reg, v)
		}
	}
}

// grow makes room for more than n steps: for as many as the memory at hand may
// hold if frames go on to be as large as they were.
func (w *walker) grow(n int) {
	room := min(max(growSteps*n, firstSteps), w.request.MaxFrames)
	first, ok1 := w.request.Registers.SP(w.arch)
	sp, ok2 := w.regs.SP(w.arch)
	for _, window := range w.request.Stack {
		if ok1 && ok2 && sp > first && window.Contains(sp, 1) {
			left := float64(len(window.Data)) - float64(sp-window.Addr)
			room = min(room, n+firstSteps+int(left/float64(sp-first)*float64(n)))
			break
		}
	}
	grown := make([]unwind.Step, n, room)
	copy(grown, w.result.Steps)
	w.result.Steps = grown
}

// goesOn reports after a step whether another may follow.
func (w *walker) goesOn() bool {
	pc, _ := w.regs.PC(w.arch)
	switch {
	case len(w.yield) > 0 && w.yield.Contains(uint64(unwind.Code(pc, w.frame.Kind).Lookup(w.arch))):
		w.result.Stop = unwind.StopYield
		return false
	case len(w.result.Steps) >= w.request.MaxFrames:
		w.result.Stop = unwind.StopLimit
		return false
	case w.elsewhere:
		return w.stop(unwind.StopNoRule, "a signal interrupted code on another stack")
	}
	return true
}
