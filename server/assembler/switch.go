package assembler

import (
	"fmt"
	"strings"

	"github.com/clewdbg/clew/unwind"
)

// goSwitch says how a function of Go's runtime goes from one stack to another,
// and so how its frame is left (R14). See the table in this package's README.
type goSwitch uint8

const (
	notSwitch goSwitch = iota
	// keepsFP: the frame pointer stays that of the function's own frame on the
	// stack that it came from, so that the chain of frame pointers crosses the
	// switch (runtime/asm_amd64.s, "The original frame pointer is stored in BP,
	// which is useful for stack unwinding").
	keepsFP
	// savesDepth: where it came from is on the new stack, as a distance from the
	// old one's top.
	savesDepth
	// leaves: the goroutine's state is in its runtime.g, and the scheduler may
	// have given the thread to another goroutine since.
	leaves
	// enters: the state is in the runtime.g of the goroutine that is about to run.
	enters
)

// switches are the functions of the runtime that set SP to another stack. Their
// SP deltas do not describe the code behind the switch.
var switches = map[string]goSwitch{
	"runtime.asmcgocall":          savesDepth, // goroutine -> g0, to call C
	"runtime.cgocallback":         keepsFP,    // g0 or C's thread -> goroutine, called by C
	"runtime.systemstack":         keepsFP,    // goroutine -> g0
	"runtime.switchToCrashStack0": keepsFP,    // g0 that has overflowed -> gcrash
	"runtime.mcall":               leaves,     // goroutine -> g0, for good
	"runtime.morestack":           leaves,     // goroutine -> g0, to have its stack grown
	"gogo":                        enters,     // g0 -> goroutine
	"runtime.gogo":                enters,
}

// switchOf looks the function up, whatever its ABI.
func switchOf(fn Function) goSwitch {
	if !fn.Go {
		return notSwitch
	}
	return switches[strings.TrimSuffix(fn.Name, ".abi0")]
}

// leaveGo leaves a frame in Go code: at a switch by where the runtime keeps the
// other stack's state, elsewhere by Go's tables.
func (w *walker) leaveGo(fn Function) outcome {
	if left, known := w.leftGoroutine(); known && !left {
		w.scheduling = false
	} else if fn.Name == "runtime.schedule" {
		w.scheduling = true
	}
	switch switchOf(fn) {
	case leaves:
		if left, known := w.leftGoroutine(); !known {
			w.truncate(fn.Name + " leaves the goroutine's stack, and whether it has done so, and where it was, is in runtime.g: " + noLayout)
			return reachedEnd
		} else if left {
			return w.resume(fn)
		}
	case enters:
		if left, known := w.leftGoroutine(); !known {
			w.truncate(fn.Name + " goes to a goroutine's stack, and which it is is in runtime.g: " + noLayout)
			return reachedEnd
		} else if !left {
			return w.enter(fn)
		}
	case savesDepth:
		if w.stepDepth(fn) || w.stepBack(fn) {
			return progressed
		}
	}
	if switchOf(fn) == notSwitch && w.stepOwnStack(fn) || w.stepGo(fn) {
		return progressed
	}
	if switchOf(fn) != notSwitch {
		// What tables say of it does not hold behind the switch: they lead past
		// every frame on the other stack, to one that looks right.
		w.truncate(fn.Name + " switches stacks, and the other one is not known: " + strings.Join(w.reasons, "; "))
		return reachedEnd
	}
	return nothing
}

// stepBack leaves asmcgocall where an innermost frame is on the goroutine's stack,
// before the switch or after it: by SP, because behind a call of C the frame
// pointer may point to where the stack was before it grew. Test: in
// integration/stepping, "asmcgocall, the stack moves".
func (w *walker) stepBack(fn Function) bool {
	f := w.last()
	left, known := w.leftGoroutine()
	if left || !known || f.PC.Kind() != unwind.KindInstruction || w.target.Arch != unwind.AMD64 || !fn.HasSPDelta {
		return false
	}
	sp, _ := f.Registers.SP(w.target.Arch)
	step, err := w.target.stepAMD64(&f.Registers, fn, sp, f.PC.Kind())
	return err == nil && w.take(unwind.StrategyGopclntab, &step, false)
}

const noLayout = "its layout is not known, as the program has no DWARF"

// leftGoroutine says whether the last frame lies on another stack than a
// goroutine's. Behind mcall's and morestack's calls it always does.
func (w *walker) leftGoroutine() (left, known bool) {
	f := w.last()
	if w.thread.Saved == nil {
		return f.PC.Kind() == unwind.KindReturn, f.PC.Kind() == unwind.KindReturn
	}
	return f.Segment < 0 || w.judge.segments[f.Segment].Kind != unwind.SegmentGoroutine, true
}

// resume goes from mcall or morestack on the system stack to the goroutine that
// called it, whose state they have saved in its runtime.g.
//
// Situation: the system stack below these functions belongs to no call; what is
// there is what the scheduler left from another goroutine's time. Examples: a
// breakpoint in runtime.copystack while a goroutine's stack grows; one in
// runtime.park_m. What decides: the state is the caller's as long as the
// scheduler has not been called (runtime.schedule is on the stack otherwise) and
// the instruction before its PC is a call of this very function; mcall has kept
// on the system stack which goroutine called it. If the scheduler has been
// called, the goroutine is not running any more, and the stack ends here. Tests:
// TestResume; in integration, TestSwitches.
func (w *walker) resume(fn Function) outcome {
	saved := w.thread.Saved
	switch {
	case w.scheduling || saved != nil && saved.G == 0:
		w.stack.Stop, w.stack.Reason = unwind.End, fn.Name+": the scheduler's stack begins here, the goroutine that called it was left"
		return reachedEnd
	case saved == nil:
		w.truncate(fn.Name + " has left the goroutine's stack, and where it was is in runtime.g: " + noLayout)
		return reachedEnd
	}
	if reason := w.savedBy(fn); reason != "" {
		w.truncate(fn.Name + " has left the goroutine's stack, and where it was is not known: " + reason)
		return reachedEnd
	}
	step := unwind.Step{Caller: saved.Registers, CallerKind: unwind.KindReturn, Trust: unwind.TrustCFI, Rule: "cfa=g.sched.sp; ra=g.sched.pc; fp=g.sched.bp"}
	step.CFA, _ = saved.Registers.SP(w.target.Arch)
	if !w.take(unwind.StrategyGopclntab, &step, true) {
		w.truncate(fn.Name + " has left the goroutine's stack: " + strings.Join(w.reasons, "; "))
		return reachedEnd
	}
	// morestack was called in the prologue: f has no frame yet, and where a link
	// register holds the return address the caller's SP is f's own.
	w.judge.fresh = fn.Name != "runtime.mcall"
	return progressed
}

// savedBy says why the saved state is not that of the call of fn, "" if it is.
func (w *walker) savedBy(fn Function) string {
	saved, f := w.thread.Saved, w.last()
	pc, ok := saved.Registers.PC(w.target.Arch)
	if !ok || pc == 0 {
		return "nothing is saved"
	}
	callee, ok := w.calleeBefore(pc)
	if !ok || !leavesTo(callee) || !strings.HasPrefix(callee.Name, strings.TrimSuffix(fn.Name, ".abi0")) {
		return fmt.Sprintf("the instruction before the saved program counter %#x is no call of it", pc)
	}
	if w.target.Arch != unwind.AMD64 || fn.Name != "runtime.mcall" || f.PC.Kind() != unwind.KindReturn {
		return ""
	}
	// mcall pushes the goroutine, as room for its callee's argument.
	sp, _ := f.Registers.SP(w.target.Arch)
	if g, ok := w.word(sp); !ok || g != saved.G {
		return fmt.Sprintf("the thread runs the goroutine at %#x, and %#x called", saved.G, g)
	}
	return ""
}

// leavesTo says that a call of fn leaves the goroutine's stack.
func leavesTo(fn Function) bool {
	return switchOf(fn) == leaves || fn.Go && strings.HasPrefix(fn.Name, "runtime.morestack_noctxt")
}

// calleeBefore gives the function that the call right before a return address
// calls; ok is false where no direct call is there.
func (w *walker) calleeBefore(pc uint64) (Function, bool) {
	target, ok := callTarget(w.target.Arch, pc, w.target.Code)
	if !ok {
		return Function{}, false
	}
	return w.function(unwind.InstructionAddr(target).Lookup(w.target.Arch))
}

// enter goes from gogo, when it has set SP to the goroutine's stack, to where the
// goroutine goes on: no call led from there to here. The words of the state that
// gogo is done with are 0 already.
func (w *walker) enter(fn Function) outcome {
	arch, f, saved := w.target.Arch, w.last(), w.thread.Saved
	pc, okPC := saved.Registers.PC(arch)
	sp, _ := f.Registers.SP(arch)
	if was, _ := saved.Registers.SP(arch); !okPC || was != 0 && was != sp {
		w.truncate(fn.Name + " goes to a goroutine's stack, and which it is is not known")
		return reachedEnd
	}
	step := unwind.Step{CFA: sp, Caller: saved.Registers, CallerKind: unwind.KindInstruction, Trust: unwind.TrustCFI, Rule: "cfa=sp; ra=g.sched.pc"}
	// A new goroutine, or one that has recovered from a panic, goes on at an
	// instruction that no call is before of.
	if callee, ok := w.calleeBefore(pc); ok && leavesTo(callee) {
		step.CallerKind = unwind.KindReturn
	} else if to, ok := w.function(unwind.InstructionAddr(pc).Lookup(arch)); !ok || switchOf(to) == enters {
		w.truncate(fn.Name + " goes to a goroutine's stack, and where that goes on is not known")
		return reachedEnd
	}
	step.Caller.Set(arch.SP(), sp)
	for _, reg := range []unwind.Register{arch.FP(), arch.LR()} {
		if v, _ := step.Caller.Get(reg); reg != unwind.NoRegister && v == 0 {
			step.Caller.Forget(reg)
			if v, ok := f.Registers.Get(reg); ok {
				step.Caller.Set(reg, v)
			}
		}
	}
	if !w.take(unwind.StrategyGopclntab, &step, true) {
		w.truncate(fn.Name + " goes to a goroutine's stack: " + strings.Join(w.reasons, "; "))
		return reachedEnd
	}
	return progressed
}
