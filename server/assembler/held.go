package assembler

import "github.com/clewdbg/clew/unwind"

// A frame pointer that was followed out of code of which nobody knows whether it
// keeps one waits until a scan has had its turn.
//
// Situation: a function without frame pointer, where nobody knows where it begins,
// below one that keeps it: the frame pointer skips its caller. Examples: a local
// function of a stripped library; assembly by an assembler that gives symbols no
// size. What handles it: a return address nearer to SP that a scan finds counts, and
// the frame pointer's is refused (hold): code that keeps one has a prologue that says
// so, as a rule (prologueAgrees). If a scan finds none the frame pointer's is taken
// after all. So many frames of a stack wait, and no more: in a deep recursion a scan
// for each would take too long. Tests: TestScanBeforeAGuess, TestFewGuessesWait.
type heldStep struct {
	strategy string
	step     unwind.Step
}

const (
	reasonHeld = "nothing shows that this code keeps a frame pointer"
	reasonFar  = "a frame pointer leads to a nearer caller"
)

// hold says why a step is not to be taken yet, "" if it is.
func (w *walker) hold(strategy string, step *unwind.Step) string {
	probe := *step
	switch {
	case w.scanning:
		if w.held != nil && step.CFA >= w.held.step.CFA && !w.codeAgrees(&probe) {
			return reasonFar
		}
	case w.held == nil && w.waited < maxScanned && w.asm.canScan(strategy):
		if w.doubt(&probe); probe.Trust <= unwind.TrustScan && w.guesses(strategy, &probe) {
			w.held = &heldStep{strategy, *step}
			w.waited++
			return reasonHeld
		}
	}
	return ""
}

// canScan says that a strategy that scans comes after this one.
func (a *Assembler) canScan(after string) bool {
	for i := range a.Strategies {
		if a.Strategies[i].Description.Name == after {
			for _, s := range a.Strategies[i+1:] {
				if s.scans() {
					return true
				}
			}
		}
	}
	return false
}

// takeHeld takes the step that was held, if there is one.
func (w *walker) takeHeld() bool {
	h := w.held
	if h == nil {
		return false
	}
	f := w.last()
	for i := range f.Rejected {
		if f.Rejected[i].Reason == reasonHeld {
			f.Rejected = append(f.Rejected[:i:i], f.Rejected[i+1:]...)
			break
		}
	}
	return w.take(h.strategy, &h.step, false)
}
