package assembler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clewdbg/clew/unwind"
)

// Stack assembles the stack of one thread of control. It never fails: the stack
// itself tells its faults.
func (a *Assembler) Stack(ctx context.Context, t *Target, th *unwind.Thread, opts Options) unwind.Stack {
	w := &walker{
		asm: a, target: t, thread: th, code: newProgram(t), window: firstWindow, carried: carried{fresh: true}, down: make(map[string]bool),
		builder: builder{opts: opts, arch: t.Arch, stack: unwind.Stack{Thread: th.ID, Goroutine: th.Goroutine}},
	}
	if w.claims = opts.Claims; w.claims == nil {
		w.claims = func(int) []unwind.Frame { return th.Claims }
	}
	if w.start() {
		for w.next(ctx) {
			w.drain()
		}
	}
	if opts.Sink != nil {
		w.pass(len(w.stack.Frames))
	}
	stitch(t.Arch, &w.stack, w.claims(w.depth()))
	return w.stack
}

// walker is one walk.
type walker struct {
	asm    *Assembler
	target *Target
	thread *unwind.Thread
	code   *program
	builder
	stacks  stacks
	carried carried
	// lower is a lower bound of the last frame's stack pointer, where that is not known
	// (R12).
	lower uint64
	// outside is the number of the frame, from 1, whose stack pointer lies on no stack, and its frame pointer does; 0 for none.
	outside int
	// down names the strategies that failed (not: refused a frame) in this walk.
	down   map[string]bool
	window int // size of the stack window to send; it grows with the stack
	// room holds one step of the host and its evidence, which would otherwise be
	// allocated for each.
	room struct {
		evidence evidence
		witness  codeWitness
		step     unwind.Step
		goFrame  goFrame
	}
}

// outcome is the result of one way to leave a frame.
type outcome int

const (
	nothing    outcome = iota // the next way's turn
	progressed                // at least one frame more
	reachedEnd                // the stack is complete, or as deep as it may be
)

// start makes the innermost frame from the thread's registers.
func (w *walker) start() bool {
	regs := w.thread.Registers
	pc, okPC := regs.PC(w.target.Arch)
	sp, okSP := regs.SP(w.target.Arch)
	if !okPC || !okSP {
		w.truncate("the thread's registers have no program counter or no stack pointer")
		return false
	}
	var located bool
	w.stacks, located = newStacks(w.thread.Segments, sp)
	w.stack.Frames = append(w.stack.Frames, unwind.Frame{
		PC: unwind.Code(pc, w.thread.FirstPC), Strategy: unwind.StrategyRegisters, Trust: unwind.TrustContext,
		Registers: regs, Segment: w.stacks.index(sp), DelveFrame: -1,
	})
	if trap := w.target.trapAt(pc); trap != "" && w.thread.FirstPC == unwind.KindInstruction {
		w.last().Notes = append(w.last().Notes, trap)
	}
	if located = located || w.locateByFrame(); !located {
		w.truncate(fmt.Sprintf("the stack pointer %#x lies outside the thread's stacks", sp))
	}
	return located
}

// locateByFrame finds the stack of an innermost frame whose stack pointer lies on none.
func (w *walker) locateByFrame() bool {
	f := w.last()
	fp, at := w.framed(f)
	if at < 0 {
		return false
	}
	f.Segment, f.Notes = at, append(f.Notes, noteOutside)
	w.stacks.floors[at], w.lower, w.outside = fp, fp, 1
	return true
}

// ways to leave a frame, in this order.
var ways = []func(*walker, context.Context) outcome{
	(*walker).leaveSignal, (*walker).stepWild, leaveEntry, (*walker).leaveGo, (*walker).leaveEntered, (*walker).askStrategies, (*walker).takeWaiting, (*walker).takeClaim,
}

// next leaves the last frame, possibly many; false when the stack has ended.
func (w *walker) next(ctx context.Context) bool {
	if w.ended() || w.full() {
		return false
	}
	if err := ctx.Err(); err != nil {
		w.truncate("cancelled: " + err.Error())
		return false
	}
	w.turn = turn{reasons: w.turn.reasons[:0]}
	for _, leave := range ways {
		if result := leave(w, ctx); result != nothing {
			return result == progressed
		}
	}
	w.doubtUnproven(w.carried.unproven)
	w.truncate(fmt.Sprintf("no believable caller of %#x: %s", w.last().PC.Raw(), cmp.Or(w.turn.why(), "no strategy covers this code")))
	return false
}

// askStrategies asks the strategies that cover the last frame's code. If tables claim that the
// stack ends here, and other tables or the code know a caller, that counts (R16).
func (w *walker) askStrategies(ctx context.Context) outcome {
	left := len(w.stack.Frames) - 1
	result, claim := w.askByRank(ctx), w.turn.end
	switch {
	case claim == nil:
	case result == progressed:
		f := &w.stack.Frames[left]
		f.Rejected = append(f.Rejected, unwind.Rejection{Strategy: claim.strategy, Reason: claim.reason + ", but a caller is known", Check: byCaller.name, Rule: byCaller.rule})
	default:
		return w.endAs(claim)
	}
	return result
}

// endAs ends the stack as claimed, or keeps the claim as refused.
func (w *walker) endAs(claim *ending) outcome {
	result, why, by := w.conclude(claim)
	if result == nothing {
		w.refuse(by, claim.strategy, claim.reason+", but "+why, 0, 0)
	}
	return result
}

func (w *walker) askByRank(ctx context.Context) outcome {
	at := w.last().PC.Lookup(w.target.Arch)
	fn := w.code.function(at)
	for i := range w.asm.Strategies {
		s := &w.asm.Strategies[i]
		if w.down[s.Description.Name] || !s.serves(w.target.Arch, at) {
			continue
		}
		if w.turn.end != nil && s.Description.Trust <= unwind.TrustFramePointer {
			break
		}
		if s.scans() {
			if result := w.stepByModel(); result != nothing {
				return result
			}
		}
		if why := w.mayNotScan(s, fn); why != "" {
			w.note(s.Description.Name, why)
		} else if result := w.run(ctx, s, fn); result != nothing {
			return result
		}
	}
	return w.stepByModel()
}

// Limits on frames found by scans (R7): in one stack, and in a row.
const (
	maxScanned      = 64
	maxScannedInRow = 8
)

// mayNotScan returns the reason for which a scanning strategy is not asked, ""
// if it may be.
func (w *walker) mayNotScan(s *Strategy, fn *place) string {
	c := &w.carried
	switch {
	case !s.scans():
	case fn.known && fn.Go:
		return "Go's own tables know this frame, and what a scan could find above it are older calls"
	case w.code.signalFrame(w.last()):
		return "no call led to a signal's trampoline"
	case c.scanned >= maxScanned:
		return fmt.Sprintf("%d frames of this stack were found by scanning; no more are looked for", c.scanned)
	case c.scannedInRow >= maxScannedInRow:
		return fmt.Sprintf("%d frames in a row were found by scanning; no more are looked for", c.scannedInRow)
	}
	return ""
}

// leftOut is in the note on a stack without a strategy that failed.
const leftOut = " failed and was left out: "

// LeftOut reports whether a note on a stack says that a strategy failed: frames may have less trust for that, and may be
// missing, than at the next stop. It is to be said each time.
func LeftOut(note string) bool { return strings.Contains(note, leftOut) }

// run asks one strategy to leave the last frame and as many more as it can, and
// judges its steps.
func (w *walker) run(ctx context.Context, s *Strategy, fn *place) outcome {
	name := s.Description.Name
	req := w.request(s, fn)
	result, err := w.ask(ctx, s, &req)
	if late := interface{ Timeout() bool }(nil); errors.As(err, &late) && late.Timeout() && ctx.Err() == nil {
		result, err = w.ask(ctx, s, &req) // once more: a busy machine is no reason for a guess
	}
	if err != nil {
		w.down[name] = true // it is not asked again in this walk
		w.turn.reasons = append(w.turn.reasons, name+" failed: "+err.Error())
		w.stack.Notes = append(w.stack.Notes, name+leftOut+err.Error())
		return nothing
	}
	if len(result.Steps) > 0 {
		if _, told := result.Steps[0].Caller.SP(w.target.Arch); !told { // R12: the code may tell it
			if left := w.stepByModel(); left != nothing {
				return left
			}
		}
		return w.takeRun(ctx, s, &req, &result)
	}
	switch result.Stop {
	case unwind.StopEnd:
		e := w.claim(s, &result)
		if !e.byTables {
			return w.endAs(e)
		}
		if w.turn.end == nil {
			w.turn.end = e
		}
	case unwind.StopBroken:
		w.refuse(byStrategy, name, result.Reason, result.PC, result.CFA)
	case unwind.StopMemory:
		w.refuse(byMemory, name, fmt.Sprintf("memory at %#x cannot be read", result.Need.Start), 0, 0)
	default:
		w.note(name, cmp.Or(result.Reason, result.Stop.String()))
	}
	return nothing
}

// takeRun judges the steps of a run in order, and stops at the first that is
// refused, at the stack's end, or at the depth limit.
func (w *walker) takeRun(ctx context.Context, s *Strategy, req *unwind.WalkRequest, result *unwind.WalkResult) outcome {
	for i := range result.Steps {
		if i > 0 && (w.ended() || w.full()) {
			return reachedEnd
		}
		step, refusals := &result.Steps[i], len(w.last().Rejected)
		step.Trust = min(step.Trust, s.Description.Trust)
		if (i == 0 || !w.cuts(s)) && w.take(candidate{step: step, strategy: s.Description.Name, trust: s.Description.Trust, scans: s.scans()}) == progressed {
			if i == 0 {
				w.stack.Frames = slices.Grow(w.stack.Frames, len(result.Steps)-1)
			}
			continue
		}
		if i == 0 {
			return nothing
		}
		// The next turn asks again from this frame, with its code, and keeps the
		// refusals.
		f := w.last()
		f.Rejected = f.Rejected[:refusals]
		w.complete(ctx, s, req, i)
		return progressed
	}
	return w.afterRun(s, result)
}

// afterRun ends the stack at the last frame of a run, if the strategy claims an
// end. A frame pointer of 0 ends the chain (R4), but not the stack if the frame's
// code shows how to go on without it.
func (w *walker) afterRun(s *Strategy, result *unwind.WalkResult) outcome {
	row := w.code.certainRule(w.last())
	if result.Stop != unwind.StopEnd || s.Description.Trust <= unwind.TrustFramePointer && row != nil && !marksEnd(row) {
		return progressed
	}
	if e := w.claim(s, result); !e.byTables { // the next turn asks all tables
		if ended, _, _ := w.conclude(e); ended != nothing {
			return ended
		}
	}
	return progressed
}

// cuts reports whether the last frame, in the middle of a run, belongs to Go's
// tables or to a strategy of higher rank. The strategy should have stopped there;
// the host does not rely on it.
func (w *walker) cuts(s *Strategy) bool {
	f := w.last()
	at := f.PC.Lookup(w.target.Arch)
	if fn := w.code.function(at); fn.known && fn.Go || w.code.signalFrame(f) {
		return true
	}
	for i := range w.asm.Strategies {
		higher := &w.asm.Strategies[i]
		if higher == s {
			return false
		}
		if !w.down[higher.Description.Name] && higher.serves(w.target.Arch, at) && !higher.Description.Anywhere {
			return true
		}
	}
	return false
}

// takeWaiting takes the step that has waited for scans, if any.
func (w *walker) takeWaiting(_ context.Context) outcome {
	i, f := w.turn.waits, w.last()
	if i == 0 {
		return nothing
	}
	f.Rejected = slices.Delete(f.Rejected, i-1, i)
	return w.take(*w.turn.bound)
}

// takeClaim leaves the last frame by Delve's own stack, judged like any other
// candidate, if that is a frame of Go code.
func (w *walker) takeClaim(_ context.Context) outcome {
	arch, f := w.target.Arch, w.last()
	fn := w.code.functionOf(f)
	if !fn.known || !fn.Go {
		return nothing
	}
	sp, _ := f.Registers.SP(arch)
	callee, c := matchClaim(w.claims(w.depth()), f.PC.Raw(), sp, arch)
	if c == nil {
		return nothing
	}
	step := &w.room.step
	*step = unwind.Step{CFA: callee.CFA, Caller: c.Registers, CallerKind: unwind.KindReturn,
		Trust: unwind.TrustCFI}
	step.Caller.Set(arch.PC(), c.PC.Raw())
	if _, ok := step.Caller.SP(arch); !ok {
		step.Caller.Set(arch.SP(), step.CFA)
	}
	return w.take(candidate{step: step, strategy: unwind.StrategyDelve, trust: unwind.TrustCFI, switches: fn.switchKind() != notSwitch})
}

// position is where the last frame lies: its stack pointer, or a lower bound of it.
func (w *walker) position() uint64 {
	if sp, known := w.last().Registers.SP(w.target.Arch); known && w.outside != w.depth() {
		return sp
	}
	return w.lower
}

// take judges a step out of the last frame, and appends the caller if it is
// accepted.
func (w *walker) take(c candidate) outcome {
	ev := w.gather(c)
	v := judge(ev)
	if v.bounds {
		step, bound := *c.step, c
		bound.step = &step
		w.turn.bound = &bound
		w.carried.waits()
	}
	if v.answer != accept {
		w.refuse(v.by, c.strategy, v.why, ev.pc, c.step.CFA)
		if v.answer == wait {
			w.turn.waits = len(ev.frame.Rejected)
		}
		return nothing
	}
	shown := ev.shown()
	reached := ev.callerSP
	if ev.framed != 0 {
		reached, w.lower, w.outside = ev.framed, ev.framed, w.depth()+1
		c.step.Note = strings.Trim(c.step.Note+"; "+noteOutside, "; ")
	}
	segment := w.stacks.reach(reached, ev.found)
	w.carried.accepted(ev, v.guess)
	ev.frame.CFA, ev.frame.Rule = c.step.CFA, c.step.Rule
	if !ev.haveSP {
		ev.frame.CFA, w.lower = 0, c.step.CFA
	}
	caller := unwind.Frame{
		PC: unwind.Code(ev.pc, c.step.CallerKind), Strategy: c.strategy, Trust: c.step.Trust,
		Registers: c.step.Caller, Segment: segment, DelveFrame: -1, Shown: shown,
	}
	if c.step.Note != "" {
		caller.Notes = []string{c.step.Note}
	}
	if n := len(w.stack.Frames); n == cap(w.stack.Frames) { // append would copy more often
		w.stack.Frames = slices.Grow(w.stack.Frames, n)
	}
	w.stack.Frames = append(w.stack.Frames, caller)
	return progressed
}
