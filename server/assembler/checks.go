package assembler

import (
	"cmp"
	"fmt"

	"github.com/clewdbg/clew/unwind"
)

// The steps that a check applies to, by their trust so far.
type steps struct{ from, to unwind.Trust }

var (
	every  = steps{unwind.TrustNone, unwind.TrustContext}
	chains = steps{unwind.TrustNone, unwind.TrustFramePointer} // rest on a frame pointer or on less
	finds  = steps{unwind.TrustNone, unwind.TrustScan}         // found by a scan, or as uncertain
	sure   = steps{unwind.TrustScan + 1, unwind.TrustContext}  // the others
)

// checks are the tests that every step must pass, whoever made it, in this order.
// Each reads the evidence only. The first refusal wins; every doubt counts.
var checks = []check{
	{ruled{"own code", "R4, R16"}, every, agreesWithOwnCode},
	{ruled{"goexit", "R8"}, every, goexitAtTheTop},
	{ruled{"call", "R3"}, every, returnsBehindACall},
	{ruled{"known function", "R7"}, finds, liesInAFunction},
	{ruled{"scan first", "R2, R4"}, chains, scansFirst},
	{ruled{"nearest", "R2"}, finds, isNearest},
	{ruled{"registers", "R3"}, every, isComplete},
	{ruled{"code address", "R3, R17"}, every, returnsToCode},
	{ruled{"alignment", "R3"}, every, isAligned},
	{ruled{"stack", "R3, R14"}, every, staysOnItsStack},
	{ruled{"order", "R3, R10"}, every, goesUp},
	{ruled{"unchecked frame pointer", "R5"}, chains, keepsFramePointer},
	{ruled{"uncertain call", "R16"}, sure, isCalledFromThere},
	{ruled{"nearer caller", "R16"}, sure, skipsNone},
	{ruled{"after a refusal", "R2"}, sure, followsNoRefusal},
	{ruled{"guess", "R16"}, finds, isNoGuess},
	{ruled{"rests on a guess", "R1"}, sure, restsOnNoGuess},
}

// ruled is a check's name, and the rules that it applies (docs/rules.md). A refused candidate carries both.
type ruled struct{ name, rule string }

type check struct {
	ruled
	steps steps
	judge func(*evidence) verdict
}

// What refuses candidates without one of the checks.
var (
	byStrategy = ruled{"strategy", "R3"} // has found its own candidate wrong
	byMemory   = ruled{"memory", "R2"}   // the strategy asks for memory that cannot be read
	byHost     = ruled{"step", "R3"}     // the host's own rule cannot be applied
	bySwitch   = ruled{"switch", "R14"}  // of stacks
	byCall     = ruled{"call", "R3"}     // as the check of that name
	byCaller   = ruled{"end: a caller is known", "R16"}
)

// verdict is the result of a check. The zero verdict accepts it.
type verdict struct {
	answer answer
	why    string       // of a refusal; the note of a doubt
	by     ruled        // the check that refuses, or has the step wait
	trust  unwind.Trust // the most that a doubt leaves
	// guess: no code confirms an accepted step.
	guess bool
	// bounds: a scan must find a nearer caller than this step, which waits or was
	// refused.
	bounds bool
	// noFrame: the frame pointer of an accepted step is not the caller's.
	noFrame bool
}

type answer uint8

const (
	accept answer = iota
	doubt         // accepted, with less trust and a note
	refuse        // the next strategy's turn
	wait          // a scan has its turn first
)

// judge runs the checks and applies their verdicts to the step.
func judge(ev *evidence) (all verdict) {
	for i := range checks {
		if s := checks[i].steps; ev.step.Trust < s.from || ev.step.Trust > s.to {
			continue
		}
		v := checks[i].judge(ev)
		switch v.answer {
		case accept:
		case refuse:
			v.by = checks[i].ruled
			v.bounds = scansFirst(ev).answer == wait
			return v
		case wait:
			v.by, v.bounds = checks[i].ruled, true
			return v
		case doubt:
			ev.step.Trust = min(ev.step.Trust, v.trust)
			ev.step.Note = cmp.Or(ev.step.Note, v.why)
		}
		if v.noFrame {
			ev.step.Caller.Forget(ev.arch.FP())
		}
		all.guess = all.guess || v.guess
	}
	return all
}

func refusal(format string, args ...any) verdict {
	return verdict{answer: refuse, why: fmt.Sprintf(format, args...)}
}

// orAccept accepts where there is no reason against it.
func orAccept(v verdict) verdict {
	if v.why == "" {
		return verdict{}
	}
	return v
}

func doubtful(why string) verdict {
	return verdict{answer: doubt, why: why, trust: unwind.TrustScan}
}

// agreesWithOwnCode compares a step with the code of the function that it leaves: one that
// contradicts it would skip callers silently. The step is accepted where the code is not
// certain enough, or a register is unknown. A rule that is only likely counts for more than an
// unchecked chain of frame pointers. Against tables only a proof counts (R16): they err, and
// so may plugins; the next strategy has its turn, and the refused step is shown.
func agreesWithOwnCode(ev *evidence) verdict {
	least := isProven
	switch {
	case ev.step.Trust < unwind.TrustFramePointer:
		least = isSure
	case ev.step.Trust == unwind.TrustFramePointer:
		least = isLikely
	}
	code, ok := ev.witness.expects(least)
	if !ok {
		return verdict{}
	}
	return orAccept(verdict{answer: refuse, why: code.against(ev.arch, ev.step)})
}

// against says how a step contradicts what the code shows, "" if it does not. On arm64 the
// record may lie anywhere in its frame, so a chain of records does not contain the CFA:
// of such a step only the return address is compared.
func (e *expected) against(arch unwind.Arch, step *unwind.Step) string {
	const is = "the function's own code puts %s %#x where this has %#x"
	pc, _ := step.Caller.PC(arch)
	fp, known := step.Caller.FP(arch)
	framed := arch == unwind.AMD64 || step.Trust > unwind.TrustFramePointer
	switch {
	case framed && step.CFA != e.cfa:
		return fmt.Sprintf("the function's own code puts its CFA at %#x, not at %#x", e.cfa, step.CFA)
	case e.haveRA && e.ra != pc:
		return fmt.Sprintf(is, "the return address", e.ra, pc)
	case framed && e.haveFP && known && e.fp != fp:
		return fmt.Sprintf(is, "the frame pointer", e.fp, fp)
	}
	return ""
}

// goexitAtTheTop refuses a goroutine's end that is not at the top of its stack.
func goexitAtTheTop(ev *evidence) verdict {
	if ev.misplacedGoexit {
		return refusal("%s with stack pointer %#x is not at the top of its stack", ev.caller.Name, ev.callerSP)
	}
	return verdict{}
}

// returnsBehindACall refuses a return address that no call which leads to the frame
// ends at ([callFinding]).
func returnsBehindACall(ev *evidence) verdict {
	return orAccept(verdict{answer: refuse, why: ev.call.refusal})
}

// liesInAFunction refuses a return address found by a scan that lies in no
// function of an image that has symbols for all of them.
func liesInAFunction(ev *evidence) verdict {
	if ev.inNoFunction {
		return refusal("return address %#x lies in no function of an image that has symbols for all", ev.pc)
	}
	return verdict{}
}

// scansFirst delays a step by frame pointer out of code that may not keep one until a
// scan has had its turn: a caller that the scan finds nearer to SP counts. Only a
// limited number of frames of a stack wait: in a deep recursion a scan for each would
// take too long.
func scansFirst(ev *evidence) verdict {
	if !ev.scanFollows || ev.scans || ev.bound != nil || ev.soFar.waited >= maxScanned {
		return verdict{}
	}
	v := keepsFramePointer(ev)
	if low := ev.step.Trust <= unwind.TrustScan || v.answer == doubt && v.trust <= unwind.TrustScan; low && ev.guessed() {
		return verdict{answer: wait, why: "nothing shows that this code keeps a frame pointer"}
	}
	return verdict{}
}

// isNearest refuses a scan's caller that is farther away than a frame pointer's,
// unless code confirms it.
func isNearest(ev *evidence) verdict {
	if ev.scans && ev.bound != nil && ev.step.CFA >= ev.bound.step.CFA && !ev.witness.agrees().ok {
		return refusal("a frame pointer leads to a nearer caller")
	}
	return verdict{}
}

// isComplete refuses a step without the registers that the next one needs.
func isComplete(ev *evidence) verdict {
	switch {
	case !ev.havePC:
		return refusal("no return address")
	case !ev.haveSP && (ev.arch != unwind.ARM64 || ev.callerSP == 0): // else it is a lower bound (R12)
		return refusal("no stack pointer for the caller")
	}
	return verdict{}
}

// returnsToCode refuses an invalid return address (R3, R4, R6, R8). A signal may
// have interrupted a call through an invalid pointer: then the caller's PC is that
// pointer, and no return address.
func returnsToCode(ev *evidence) verdict {
	if ev.interrupted {
		return verdict{}
	}
	switch {
	case ev.pc < unwind.LowestCode:
		return refusal("return address %#x is below %d", ev.pc, unwind.LowestCode)
	case !ev.arch.Canonical(ev.pc):
		return refusal("return address %#x %s", ev.pc, machineOf(ev.arch).notCode)
	case ev.outside:
		return refusal("return address %#x lies outside every executable mapping", ev.pc)
	}
	return verdict{}
}

func isAligned(ev *evidence) verdict {
	if to := ev.arch.StackAlignment(); ev.callerSP%to != 0 {
		return refusal("the caller's stack pointer %#x is not aligned to %d bytes", ev.callerSP, to)
	}
	return verdict{}
}

// staysOnItsStack refuses a caller on no known stack, and one on another where the
// code does not switch stacks.
func staysOnItsStack(ev *evidence) verdict {
	switch {
	case len(ev.segments) == 0 || ev.found != nil:
	case ev.to < 0:
		return refusal("the caller's stack pointer %#x lies outside the thread's stacks", ev.callerSP)
	case ev.from != ev.to && !ev.switches:
		return refusal("the caller's stack pointer %#x lies on another stack (%s), and this code does not switch stacks",
			ev.callerSP, ev.segments[ev.to].Kind)
	}
	return verdict{}
}

// goesUp refuses a caller's SP that is not above everything seen on its stack,
// but for a leaf whose caller has the same SP, for code that has taken its return address
// off the stack, and for gogo, which has no frame on the stack that it goes to: there the
// PC must change (R10).
func goesUp(ev *evidence) verdict {
	leaf := ev.soFar.fresh && ev.callerSP == ev.floor && ev.pc != ev.frame.PC.Raw() &&
		(ev.switches || ev.arch.LR() != unwind.NoRegister || ev.popped())
	if max(ev.callerSP, ev.framed) <= ev.floor && ev.floor != 0 && !leaf {
		return refusal("the caller's stack pointer %#x is not above %#x, which the stack has reached already", ev.callerSP, ev.floor)
	}
	return verdict{}
}

// keepsFramePointer lowers the trust in a frame pointer that was followed out of
// code of no known function (a stripped library, JIT code), or whose code does not
// tell whether it keeps one (R4, R5). Where mappings are unknown nothing can be
// checked of any frame, and there is the note alone.
func keepsFramePointer(ev *evidence) verdict {
	if ev.step.Trust != unwind.TrustFramePointer || ev.frame.PC.Kind() != unwind.KindReturn || ev.callee.known && !ev.witness.unclear() {
		return verdict{}
	}
	v := doubtful("callers may be missing: whether the function before keeps a frame pointer could not be checked")
	if !ev.callee.known && !ev.mappings {
		v.trust = unwind.TrustFramePointer
	}
	return v
}

// isCalledFromThere doubts a step whose return address need not be one.
func isCalledFromThere(ev *evidence) verdict {
	return orAccept(doubtful(ev.call.doubt))
}

// skipsNone doubts a step where another caller fits better, and no code confirms the step: a table may be wrong. The stack has
// no known end then.
func skipsNone(ev *evidence) verdict {
	if ev.step.CallerKind != unwind.KindReturn || ev.switches || ev.entered || !ev.witness.nearer() {
		return verdict{}
	}
	v := doubtful("a nearer caller fits, and the code does not confirm this one: callers may be missing")
	v.guess = true
	return v
}

// followsNoRefusal doubts a step that comes after a better strategy's was refused
// at the same frame: then either that strategy's tables are wrong, or the stack
// is damaged here, and the step rests on the same damaged words. If the model of the code
// confirms the step, it is the tables.
func followsNoRefusal(ev *evidence) verdict {
	if ev.better == "" || ev.witness.agrees().proven {
		return verdict{}
	}
	return doubtful(ev.better + "'s step was refused: the stack may be damaged here")
}

// isNoGuess checks that code confirms a step that does not rest on tables. If
// not, everything above rests on a guess: callers may be missing, and nothing
// above would show it.
func isNoGuess(ev *evidence) verdict {
	switch {
	case ev.soFar.guess > 0:
	case ev.scans:
		a := ev.witness.agrees()
		return verdict{guess: !a.ok, noFrame: a.ok && !a.frame}
	case ev.step.Trust <= unwind.TrustScan:
		return verdict{guess: ev.guessed()}
	}
	return verdict{}
}

// guessed reports whether a step that does not rest on tables is confirmed by
// no code.
func (ev *evidence) guessed() bool {
	return !ev.wild && ev.trust <= unwind.TrustFramePointer && !ev.witness.led() && !ev.witness.agrees().ok
}

// restsOnNoGuess lowers steps above a guess to the trust of a scan, and such a stack
// has no known end. Behind other steps of that trust one step is enough whose return
// address lies behind a call of code that leads here: then a frame and its caller
// confirm each other. The Go that has entered generated code is found without the frames
// between ([walker.leaveEntered]).
func restsOnNoGuess(ev *evidence) verdict {
	if ev.entered {
		return verdict{}
	}
	if ev.soFar.guess > 0 || ev.frame.Trust <= unwind.TrustScan && !ev.witness.led() {
		return doubtful("rests on a frame that was not found for certain, and no call here is known to have led to it")
	}
	return verdict{}
}
