package walk

import (
	"errors"
	"fmt"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// A result has room for firstSteps steps at first, and for up to growSteps times
// as many each time that is not enough, spareSteps of them beyond the estimate.
const (
	firstSteps = 32
	growSteps  = 8
	spareSteps = 1
)

// Walk is one walk. Its methods that end it return false, for a step function that
// reports whether the walk goes on.
type Walk struct {
	Arch    unwind.Arch
	Request *unwind.WalkRequest
	Result  *unwind.WalkResult
	yield   unwind.RangeSet
}

// Stop ends the walk.
func (w *Walk) Stop(stop unwind.WalkStop, format string, args ...any) bool {
	w.Result.Stop = stop
	w.Result.Reason = fmt.Sprintf(format, args...)
	return false
}

// Broken ends the walk where a rule's result is impossible.
func (w *Walk) Broken(cfa, pc uint64, format string, args ...any) bool {
	w.Result.CFA, w.Result.PC = cfa, pc
	return w.Stop(unwind.StopBroken, format, args...)
}

// Need ends the walk for lack of memory.
func (w *Walk) Need(memory unwind.Range) bool {
	w.Result.Stop, w.Result.Need = unwind.StopMemory, memory
	return false
}

// Failed ends the walk where a rule cannot be applied, or leads to no caller. An
// uncertain frame is no known end.
func (w *Walk) Failed(err error, sure bool) bool {
	var memory *rule.MissingMemory
	var register *rule.MissingRegister
	var impossible *rule.ImpossibleError
	var end *rule.EndError
	switch {
	case errors.Is(err, rule.ErrOutermost):
		return w.Stop(unwind.StopEnd, "%v", err)
	case errors.As(err, &end) && sure:
		w.Result.CFA, w.Result.PC = end.CFA, end.PC
		return w.Stop(unwind.StopEnd, "%v", err)
	case errors.As(err, &end):
		return w.Broken(end.CFA, end.PC, "return address %#x lies below %d", end.PC, unwind.LowestCode)
	case errors.As(err, &memory):
		return w.Need(memory.Range)
	case errors.As(err, &register):
		return w.Stop(unwind.StopNoRule, "%v", err)
	case errors.As(err, &impossible):
		return w.Broken(impossible.CFA, impossible.PC, "%v", err)
	}
	return w.Broken(0, 0, "%v", err)
}

// GoesOn reports after a step to a place whether another may follow.
func (w *Walk) GoesOn(at unwind.CodeAddr) bool {
	switch {
	case len(w.yield) > 0 && w.yield.Contains(uint64(at.Lookup(w.Arch))):
		w.Result.Stop = unwind.StopYield
	case len(w.Result.Steps) >= w.Request.MaxFrames:
		w.Result.Stop = unwind.StopLimit
	default:
		return true
	}
	return false
}

// Push adds a step.
func (w *Walk) Push() *unwind.Step {
	n := len(w.Result.Steps)
	if n == cap(w.Result.Steps) {
		w.grow(n)
	}
	w.Result.Steps = w.Result.Steps[:n+1]
	return &w.Result.Steps[n]
}

// grow makes room for more than n steps: for as many as the memory at hand may
// hold if frames go on to be as large as they were.
func (w *Walk) grow(n int) {
	room := max(min(max(growSteps*n, firstSteps), w.Request.MaxFrames), n+1)
	if first, ok := w.Request.Registers.SP(w.Arch); ok && n > 0 {
		last := w.Result.Steps[n-1].CFA
		for _, window := range w.Request.Stack {
			if last > first && window.Contains(last, 1) {
				left := float64(len(window.Data)) - float64(last-window.Addr)
				room = min(room, n+spareSteps+int(left/float64(last-first)*float64(n)))
				break
			}
		}
	}
	grown := make([]unwind.Step, n, room)
	copy(grown, w.Result.Steps)
	w.Result.Steps = grown
}
