package assembler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clewdbg/clew/internal/unwind/callsite"
	"github.com/clewdbg/clew/internal/unwind/simulate"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// candidate is a step out of a frame, with its strategy.
type candidate struct {
	step     *unwind.Step
	strategy string
	trust    unwind.Trust // the most that the strategy's frames have
	scans    bool         // found by a scan
	// switches: the caller may lie on another stack (R14).
	switches bool
	// stack is a stack that the step itself has found; nil for none.
	stack *unwind.Segment
	// unframed: the caller has no frame yet, although it has called.
	unframed bool
	// entered: the call before the return address, and what it was passed or has left, are what the
	// step rests on.
	entered bool
}

// evidence is the whole input of the checks. It is gathered before the first
// check. Of it only the step's trust and note change, with each doubt; the witness
// answers the questions that need decoding.
type evidence struct {
	candidate
	arch  unwind.Arch
	frame *unwind.Frame // that the step leaves
	depth int           // frames so far
	sp    uint64        // of the frame

	pc, callerSP    uint64 // of the caller
	havePC, haveSP  bool
	callee, caller  *place
	call            *callFinding // the evidence of the call before the return address
	witness         witness
	from, to        int             // the two stacks, -1 if unknown
	found           *unwind.Segment // the caller's, where none of the known ones is
	framed          uint64          // the interrupted caller's frame pointer, where its stack pointer lies on no stack; else 0
	segments        []unwind.Segment
	floor           uint64     // the caller's SP must be above it
	mappings        bool       // the executable ones are known
	outside         bool       // the return address lies outside of them
	interrupted     bool       // the caller's PC is the address that could not be fetched
	inNoFunction    bool       // of an image that has symbols for all; for steps by scan
	onGoroutine     bool       // the frame is Go's, on a goroutine's stack
	wild            bool       // the frame's PC lies outside all code
	misplacedGoexit bool       // a goroutine's first return address, but not at the top of its stack
	better          string     // a better strategy whose step was refused here, "" for none
	bound           *candidate // that a scan must find a nearer caller than, nil for none
	scanFollows     bool       // a strategy that scans has its turn later; for steps that rest on no tables
	soFar           carried
}

// unknownPlace is that of an address in no known function, noFinding that of a
// return address without evidence.
var (
	unknownPlace place
	noFinding    callFinding
)

// witness answers questions about a step from code. Each answer needs decoding,
// so a check asks only when it must.
type witness interface {
	// expects returns the caller by the code of the frame's function.
	expects(least certainty) (expected, bool)
	// unclear: there is code, and it shows no rule.
	unclear() bool
	// led: the call before the return address leads to the frame.
	led() bool
	// agrees: the function's code, or that of the called function, confirms the
	// step.
	agrees() agreement
	// nearer: the code does not confirm the step, and another caller fits better.
	nearer() bool
}

// certainty is what a rule of code must be to count.
type certainty uint8

const (
	isLikely certainty = iota
	isSure             // all paths agree
	isProven           // by the model of the image's code
)

// expected is the caller that code shows; its frame pointer only where the model proves it.
type expected struct {
	cfa, ra, fp    uint64
	haveRA, haveFP bool
}

// agreement tells whether code confirms a step, and whether it confirms its frame
// pointer too. proven: the model of the image's code does.
type agreement struct{ ok, frame, proven bool }

// carried is the state that a walk carries from step to step. Only
// [carried.accepted] and [carried.waits] change it.
type carried struct {
	// fresh is set in the innermost frame and one that a signal interrupted: only
	// there may a CFA equal the SP (R3: an arm64 leaf; R10).
	fresh bool
	// guess is the first frame that was only guessed, 0 for none (R16).
	guess int
	// gap is the first frame that was only guessed below one that was found without it, 0 for
	// none.
	gap int
	// scanned and scannedInRow count the frames that scans have found (R7), waited
	// the steps that had to wait for one.
	scanned, scannedInRow, waited int
	// unproven is how many of the last frames no call is known to have led from.
	unproven int
	// context: the last frame is where a context's stack begins (makecontext).
	context bool
	// scheduled says that the scheduler was called since the walk left a goroutine's
	// stack, or began (R14).
	scheduled bool
}

// accepted updates the state for an accepted step.
func (c *carried) accepted(ev *evidence, guess bool) {
	c.context = ev.call.context
	c.fresh = ev.step.CallerKind == unwind.KindInstruction || ev.unframed
	if guess && c.guess == 0 {
		c.guess = ev.depth
	}
	if ev.entered && c.guess > 0 {
		c.gap, c.guess = cmp.Or(c.gap, c.guess), 0
	}
	c.scannedInRow++
	if !ev.scans {
		c.scannedInRow = 0
	} else {
		c.scanned++
	}
	c.unproven++
	if !ev.call.unproven {
		c.unproven = 0
	}
	switch {
	case ev.onGoroutine:
		c.scheduled = false
	case ev.callee.known && ev.callee.Go && ev.callee.Name == "runtime.schedule":
		c.scheduled = true
	}
}

// waits records that a step waits for a scan.
func (c *carried) waits() { c.waited++ }

// guessed returns the reason for which the end of a stack is not trusted, "" if
// it is.
func (c *carried) guessed() string {
	frame := cmp.Or(c.gap, c.guess)
	if frame == 0 {
		return ""
	}
	return fmt.Sprintf("frame %d was only guessed, so that callers may be missing", frame)
}

// gather collects the evidence for a step out of the last frame.
func (w *walker) gather(c candidate) *evidence {
	f, t, ev := w.last(), w.target, &w.room.evidence
	w.room.witness = codeWitness{program: w.code, frame: f, step: c.step}
	*ev = evidence{
		candidate: c, arch: t.Arch, frame: f, depth: w.depth(), callee: w.code.functionOf(f), caller: &unknownPlace,
		witness: &w.room.witness, segments: w.stacks.segments, call: &noFinding, from: f.Segment,
		mappings: t.Executable != nil, wild: w.code.wild(f), bound: w.turn.bound, soFar: w.carried,
		scanFollows: c.step.Trust <= unwind.TrustFramePointer && w.asm.scansAfter(c.strategy),
	}
	ev.sp = w.position()
	ev.pc, ev.havePC = c.step.Caller.PC(t.Arch)
	if ev.callerSP, ev.haveSP = c.step.Caller.SP(t.Arch); !ev.haveSP {
		ev.callerSP = c.step.CFA
	}
	if ev.callee.known && ev.callee.Go {
		left, known := w.stacks.leftGoroutine(w.thread, f)
		ev.onGoroutine = known && !left
	}
	for _, r := range f.Rejected {
		if w.asm.trustOf(r.Strategy) > ev.trust {
			ev.better = r.Strategy
			break
		}
	}
	if ev.havePC {
		ev.gatherCaller(w)
	}
	ev.gatherStacks(&w.stacks, t)
	if ev.to < 0 && len(ev.segments) > 0 && ev.found == nil && ev.switches && c.step.CallerKind == unwind.KindInstruction {
		if fp, at := w.framed(&unwind.Frame{PC: unwind.Code(ev.pc, c.step.CallerKind), Registers: c.step.Caller}); at >= 0 {
			ev.framed, ev.to, ev.floor = fp, at, w.stacks.floor(at)
		}
	}
	return ev
}

// gatherCaller collects the evidence about the caller's program counter.
func (ev *evidence) gatherCaller(w *walker) {
	t, kind := w.target, ev.step.CallerKind
	at := unwind.Code(ev.pc, kind).Lookup(t.Arch)
	ev.caller = w.code.function(at)
	// A signal's trampoline was not called: it may begin where its mapping does (R9).
	ev.outside = ev.mappings && !t.Executable.Contains(uint64(at)) && !w.code.signalReturn(ev.pc)
	ev.inNoFunction = ev.scans && !ev.caller.known && t.Code.Complete(at) && !w.code.signalReturn(ev.pc)
	switch {
	case ev.entered:
	case kind == unwind.KindReturn:
		ev.misplacedGoexit = ev.caller.known && ev.caller.isGoexit(ev.pc) && w.stacks.belowTop(ev.callerSP)
		ev.call = w.asm.calls.of(w.code, ev)
	case ev.switches:
		ev.interrupted = ev.pc < unwind.LowestCode || t.fetchFailed(ev.sp, ev.pc)
	}
}

// gatherStacks finds the stacks that the frame and its caller lie on.
func (ev *evidence) gatherStacks(s *stacks, t *Target) {
	ev.to = s.index(ev.callerSP)
	ev.floor = s.floor(ev.to)
	switch {
	case ev.to >= 0 || len(s.segments) == 0:
	case ev.stack != nil && ev.stack.Contains(ev.callerSP):
		ev.found = ev.stack
	case ev.switches && ev.step.CallerKind == unwind.KindInstruction:
		// Only for interrupted code: called code returns to a known stack.
		if ev.found = t.discover(ev.callerSP); ev.found == nil {
			ev.found = s.overflown(ev.callerSP)
		}
	}
}

// codeWitness answers by the code of the program.
type codeWitness struct {
	*program
	frame *unwind.Frame
	step  *unwind.Step
}

func (w *codeWitness) expects(least certainty) (e expected, ok bool) {
	d := w.shows(w.frame)
	row, proven := d.rule, d.proven
	// Of tables only steps are asked about for which no call speaks, or that start where all of the code is in front.
	asks := least < isProven || w.frame.PC.Kind() == unwind.KindInstruction || !w.led()
	if (row == nil || least == isProven && !proven) && asks && !w.ofGo(w.frame) {
		if ahead := w.ahead(w.frame); ahead.row != nil && !ahead.guessed && (ahead.proven || row == nil) {
			row, proven = ahead.row, ahead.proven
		}
	}
	if row == nil || least > isLikely && !row.Sure || least == isProven && !proven {
		return e, false
	}
	var c rule.Caller
	_ = w.apply(&row.Rule, &w.frame.Registers, w.frame.PC.Kind(), &c) // the caller holds what was found
	e.ra, e.haveRA = c.Registers.PC(w.target.Arch)
	e.cfa = c.CFA
	if least == isProven {
		e.fp, e.haveFP = c.Registers.FP(w.target.Arch)
		if pc, _ := w.step.Caller.PC(w.target.Arch); pc != e.ra && e.against(w.target.Arch, w.step) != "" && !w.mayBeCalled(e.ra) {
			return e, false // so may the model
		}
	}
	return e, e.cfa != 0
}

// mayBeCalled reports whether a call ends before a return address that may lead to the frame:
// one that does for certain, if such a call speaks for the step itself.
func (w *codeWitness) mayBeCalled(ra uint64) bool {
	calls, known := w.callsBefore(ra)
	return slices.ContainsFunc(calls, w.leads) || (!known || slices.ContainsFunc(calls, w.open)) && !w.led()
}

// open reports whether a call could lead to the frame, for all that is known: it goes through a register or pointer, or
// to code that does (asmcgocall_landingpad).
func (w *codeWitness) open(c callsite.Call) bool {
	if !c.Direct {
		return true
	}
	answer, _, err := w.tracer.Leads(c, w.frame.PC)
	return err != nil || answer == callsite.Unknown
}

func (w *codeWitness) leads(c callsite.Call) bool {
	_, ok := w.leadsTo(c, w.frame)
	return ok
}

// returns is the step's return address, with the calls that may end there; 0 for a step to
// interrupted code.
func (w *codeWitness) returns() (ra uint64, calls []callsite.Call) {
	if w.step.CallerKind == unwind.KindReturn {
		ra, _ = w.step.Caller.PC(w.target.Arch)
		calls, _ = w.callsBefore(ra)
	}
	return ra, calls
}

func (w *codeWitness) unclear() bool {
	d := w.shows(w.frame)
	return d.code && d.rule == nil
}

func (w *codeWitness) led() bool {
	ra, calls := w.returns()
	return slices.ContainsFunc(calls, w.leads) || ra != 0 && w.signalReturn(ra)
}

func (w *codeWitness) agrees() agreement {
	d := w.shows(w.frame)
	if d.rule != nil && d.rule.Sure {
		a := w.compare(d.rule)
		a.proven = a.ok && d.proven
		return a
	}
	if ahead := w.ahead(w.frame); ahead.proven && !w.ofGo(w.frame) {
		if a := w.compare(ahead.row); a.ok {
			a.proven = true
			return a
		}
	}
	_, calls := w.returns()
	for _, call := range calls {
		if a := w.compare(w.entered(call)); a.ok {
			return a
		}
	}
	// A frame pointer that the model has counts even if it has guessed where the function begins.
	framed := rule.FramePointer(w.target.Arch)
	if d.model != nil && d.model.CFA == framed.CFA && d.model.FP == framed.FP {
		return w.compare(d.model)
	}
	return agreement{}
}

// codeBehind is the amount of code to simulate behind a frame's place, in bytes, where the end
// of its function is unknown.
const codeBehind = 256

// entered returns the rule at the frame's place by the code that a call enters,
// nil if that code does not lead there.
func (w *codeWitness) entered(call callsite.Call) *simulate.Row {
	pc := w.frame.PC.Raw()
	entry, ok := w.leadsTo(call, w.frame)
	if !ok || entry > pc || pc-entry > maxCode-codeBehind {
		return nil
	}
	return w.certainRow(simulate.Stopped, &Function{Start: entry, End: pc + codeBehind}, pc)
}

// compare reports whether a rule leads to the step's caller. The step's frame
// pointer counts only if the rule has the same.
func (w *codeWitness) compare(row *simulate.Row) agreement {
	if row == nil {
		return agreement{}
	}
	var c rule.Caller
	arch := w.target.Arch
	err := w.apply(&row.Rule, &w.frame.Registers, w.frame.PC.Kind(), &c)
	ra, known := c.Registers.PC(arch)
	if pc, _ := w.step.Caller.PC(arch); !known || ra != pc || c.CFA != w.step.CFA {
		return agreement{}
	}
	got, has := w.step.Caller.FP(arch)
	fp, known := c.Registers.FP(arch)
	return agreement{ok: true, frame: !has || err == nil && known && got == fp}
}

// maxNearer bounds the words that are looked through for a nearer caller.
const maxNearer = 1 << 10

// nearer reports whether the code does not confirm a step, and another caller fits better: the code in front of the frame
// leads to it, as far as calls come back, and no call leads here for certain; or it is nearer, and a call ends before a word of the frame that leads to it for certain.
func (w *codeWitness) nearer() bool {
	f, arch := w.frame, w.target.Arch
	d := w.shows(f)
	sp, known := f.Registers.SP(arch)
	if !known || w.ofGo(f) || d.rule != nil && d.rule.Sure && w.compare(d.rule).ok {
		return false
	}
	word := uint64(arch.PointerSize())
	slot := w.step.CFA - word // of the return address, as a rule
	if ahead := w.ahead(f); ahead.row != nil {
		if ok := w.compare(ahead.row).ok; ok || !w.led() {
			return !ok
		}
	}
	if strings.HasPrefix(w.functionOf(f).Name, linkerBinds) {
		return false // its frame is large, and has what older calls have left
	}
	for at := sp; at < slot && at < sp+maxNearer*word; at += word {
		ra, ok := w.word(at)
		if !ok {
			return false
		}
		if !w.target.Executable.Contains(ra - 1) {
			continue
		}
		if calls, _ := w.callsBefore(ra); slices.ContainsFunc(calls, w.leads) {
			return true
		}
	}
	return false
}

// popped reports whether the frame's code has taken its return address off the stack, as
// vfork does.
func (ev *evidence) popped() bool {
	code, ok := ev.witness.expects(isSure)
	return ok && code.haveRA && code.cfa == ev.callerSP && code.ra == ev.pc
}

// shown reports whether code confirms the step from the innermost frame, where
// only a scan or a frame pointer in unknown code found it: stepping the program
// rests on it.
func (ev *evidence) shown() bool {
	return ev.depth == 1 && ev.step.Trust <= unwind.TrustScan && ev.witness.agrees().ok
}
