package assembler

import (
	"context"
	"fmt"
	"strings"

	"github.com/clewdbg/clew/unwind"
)

// goSwitch is the way in which a function of Go's runtime switches stacks, and
// so the way in which its frame is left (R14). See the table in this package's
// README.
type goSwitch uint8

const (
	notSwitch goSwitch = iota
	// keepsFP: the frame pointer stays that of the function's frame on the stack
	// that it came from, so that the chain of frame pointers crosses the switch
	// (runtime/asm_amd64.s, "The original frame pointer is stored in BP, which is
	// useful for stack unwinding").
	keepsFP
	// savesDepth: the old SP is kept on the new stack, as a distance from the old
	// stack's top.
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

// switchKind looks the function up, whatever its ABI.
func (fn *Function) switchKind() goSwitch {
	if !fn.Go {
		return notSwitch
	}
	return switches[strings.TrimSuffix(fn.Name, ".abi0")]
}

// goFrame is a frame of Go code that is to be left.
type goFrame struct {
	*program
	thread    *unwind.Thread
	stacks    *stacks
	frame     *unwind.Frame
	fn        *Function
	way       goSwitch
	sp        uint64
	scheduled bool // the scheduler was called since
	walked    []unwind.Frame
	// left: the frame lies on another stack than a goroutine's.
	left, leftKnown bool
	step            *unwind.Step // the last that was made
}

// goWay is the result of one way to leave a Go frame: a step; the end or truncation
// of the stack; or neither, and the next way's turn.
type goWay struct {
	candidate
	err error // why there is no step that could be judged; step has what is known
	// Why the stack ends, or is truncated, at the frame.
	ends, truncated string
	// last is the reason for truncating the stack if the step is refused.
	last string
	// past: frames between are lost.
	past bool
}

// goWays are the ways, in this order: at a stack switch by the state that the
// runtime keeps of the other stack, elsewhere by Go's tables.
var goWays = []func(*goFrame) goWay{
	(*goFrame).resume, (*goFrame).enter, (*goFrame).stepDepth, (*goFrame).stepBack, (*goFrame).stepOwnStack, (*goFrame).stepTables, (*goFrame).stepPast,
}

func truncated(format string, args ...any) goWay {
	return goWay{truncated: fmt.Sprintf(format, args...)}
}

// leaveGo leaves the last frame if it is Go's.
func (w *walker) leaveGo(_ context.Context) outcome {
	f := w.last()
	fn := w.code.functionOf(f)
	if !fn.known || !fn.Go {
		return nothing
	}
	g := &w.room.goFrame
	*g = goFrame{program: w.code, thread: w.thread, stacks: &w.stacks, frame: f, fn: &fn.Function, way: fn.switchKind(),
		scheduled: w.carried.scheduled, walked: w.stack.Frames, step: &w.room.step}
	g.sp, _ = f.Registers.SP(w.target.Arch)
	g.left, g.leftKnown = w.stacks.leftGoroutine(w.thread, f)
	for _, leave := range goWays {
		if result := w.follow(leave(g)); result != nothing {
			return result
		}
	}
	if g.way == notSwitch {
		return nothing
	}
	// Tables are wrong behind the switch: they lead past every frame on the other
	// stack, to one that looks right.
	return w.truncate(fn.Name + " switches stacks, and the other one is not known: " + w.turn.why())
}

// follow goes one way.
func (w *walker) follow(way goWay) outcome {
	if way.strategy, way.trust = unwind.StrategyGopclntab, unwind.TrustCFI; way.past {
		way.trust = unwind.TrustScan
	}
	switch {
	case way.ends != "":
		return w.endOutermost(way.ends)
	case way.truncated != "":
		return w.truncate(way.truncated)
	case way.err != nil:
		w.refuse(bySwitch, way.strategy, way.err.Error(), 0, way.step.CFA)
	case way.step == nil:
	case w.take(way.candidate) == progressed:
		return progressed
	case way.last != "":
		return w.truncate(way.last + ": " + w.turn.why())
	}
	return nothing
}
