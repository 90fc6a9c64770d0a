package assembler

import (
	"context"
	"fmt"
	"strings"

	"github.com/clewdbg/clew/internal/unwind/callsite"
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
)

// maxRun bounds the steps asked for in one call.
const maxRun = 4096

// maxCode bounds the original bytes sent with a request: functions are
// rarely larger, and a prologue never.
const maxCode = 64 << 10

// Stack assembles the stack of one thread of control. It never fails: what is
// wrong with a stack is said in it.
func (a *Assembler) Stack(ctx context.Context, t *Target, th *unwind.Thread, opts Options) unwind.Stack {
	w := &walker{
		asm: a, target: t, thread: th, opts: opts,
		stack: unwind.Stack{Thread: th.ID, Goroutine: th.Goroutine},
		cache: make(map[unwind.LookupAddr]found), sigs: make(map[uint64]bool),
		down: make(map[string]bool), window: firstWindow,
	}
	w.walk(ctx)
	if opts.Sink != nil {
		w.give(len(w.stack.Frames))
	}
	stitch(t.Arch, &w.stack, th.Claims)
	return w.stack
}

// walker is one walk.
type walker struct {
	asm    *Assembler
	target *Target
	thread *unwind.Thread
	opts   Options
	stack  unwind.Stack
	judge  *judge
	cache  map[unwind.LookupAddr]found
	sigs   map[uint64]bool // is it a signal's trampoline, by address
	// down names the strategies that failed (not: refused a frame) in this walk.
	down map[string]bool
	// window is the size of the stack window to send; it grows with the stack.
	window int
	// seen is the stack window that was read last: what is checked word by word
	// need not be read from the process again.
	seen  unwind.Window
	given int // frames that the sink has
	// unproven is how many of the last frames no call is known to have led from.
	unproven int
	// calleeRule is the rule that the frame before the last one was left by.
	calleeRule string
	// scheduling says that the scheduler was called since the walk left a
	// goroutine's stack, or began.
	scheduling bool
	// reasons collects why nobody could leave the current frame.
	reasons []string
	// held is a guess that waits for what a scan finds (held.go).
	held   *heldStep
	waited int
	// prologues keeps what prologueAgrees has found, by place: nil for none.
	prologues map[uint64]*prologue.Rule
	// What scanned.go keeps: how many frames were scanned for, in all and in a row,
	// whether a scan's answer is being judged, and the first frame that a scan has
	// guessed, 0 if none.
	scanned, scannedInRow int
	scanning              bool
	guess                 int
	tracer                *callsite.Tracer
}

type found struct {
	fn Function
	ok bool
	// What the function's code says of its frame, once it was asked, and whether
	// there is code.
	simulated, coded bool
	rule             *prologue.Rule
}

func (w *walker) walk(ctx context.Context) {
	arch := w.target.Arch
	regs := w.thread.Registers
	pc, okPC := regs.PC(arch)
	sp, okSP := regs.SP(arch)
	if !okPC || !okSP {
		w.truncate("the thread's registers have no program counter or no stack pointer")
		return
	}
	var located bool
	w.judge, located = newJudge(w.target, w.thread.Segments, sp)
	w.stack.Frames = append(w.stack.Frames, unwind.Frame{
		PC: unwind.Code(pc, w.thread.FirstPC), Strategy: unwind.StrategyRegisters, Trust: unwind.TrustContext,
		Registers: regs, Segment: w.judge.segmentOf(sp), DelveFrame: -1,
	})
	if !located {
		w.truncate(fmt.Sprintf("the stack pointer %#x lies outside the thread's stacks", sp))
		return
	}
	for w.next(ctx) {
		w.drain()
	}
}

// last is the frame to leave.
func (w *walker) last() *unwind.Frame { return &w.stack.Frames[len(w.stack.Frames)-1] }

func (w *walker) truncate(reason string) { w.stack.Stop, w.stack.Reason = unwind.Truncated, reason }

// function looks a function up once per address: recursion asks again and again.
func (w *walker) function(at unwind.LookupAddr) (Function, bool) {
	f, ok := w.cache[at]
	if !ok {
		f.fn, f.ok = w.target.Code.Function(at)
		w.cache[at] = f
	}
	return f.fn, f.ok
}

// ended sets the end where the last frame is a known outermost one (R8).
func (w *walker) ended() bool {
	f := w.last()
	fn, ok := w.function(f.PC.Lookup(w.target.Arch))
	if !ok {
		return false
	}
	why := endReason(fn, f.PC.Kind())
	if why == "" {
		return false
	}
	if doubt := w.doubtGuess(); doubt != "" {
		w.truncate(why + " would be the end, but " + doubt)
		return true
	}
	w.stack.Stop, w.stack.Reason = unwind.End, why
	return true
}

// full says that the walk has as many frames as it may, and marks the stack.
func (w *walker) full() bool {
	if w.opts.MaxFrames <= 0 || w.depth() < w.opts.MaxFrames {
		return false
	}
	w.truncate(fmt.Sprintf("depth limit of %d frames", w.opts.MaxFrames))
	w.stack.DepthLimited = true
	return true
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
	w.reasons, w.held = w.reasons[:0], nil
	at := w.last().PC.Lookup(w.target.Arch)
	if w.atSignalFrame() && w.stepSignal() || w.stepNowhere() {
		return true
	}
	fn, known := w.function(at)
	if known && fn.Go {
		switch w.leaveGo(fn) {
		case progressed:
			return true
		case reachedEnd:
			return false
		}
	}
	for i := range w.asm.Strategies {
		s := &w.asm.Strategies[i]
		if w.down[s.Description.Name] || !s.serves(w.target.Arch, at) {
			continue
		}
		if s.scans() {
			if why := w.mayNotScan(fn, known); why != "" {
				w.reasons = append(w.reasons, s.Description.Name+": "+why)
				continue
			}
		}
		switch w.run(ctx, s, fn, known) {
		case progressed:
			return true
		case reachedEnd:
			return false
		}
	}
	if w.takeHeld() || w.stepClaim(fn) {
		return true
	}
	if len(w.reasons) == 0 {
		w.reasons = append(w.reasons, "no strategy covers this code")
	}
	w.doubtLast()
	w.truncate(fmt.Sprintf("no believable caller of %#x: %s", w.last().PC.Raw(), strings.Join(w.reasons, "; ")))
	return false
}

// stepGo leaves a Go frame by Go's own tables.
func (w *walker) stepGo(fn Function) bool {
	f := w.last()
	step, mayswitch, err := w.target.stepGo(&f.Registers, fn, f.PC.Kind())
	if err != nil {
		w.refuse(unwind.StrategyGopclntab, err.Error(), 0, step.CFA)
		return false
	}
	return w.take(unwind.StrategyGopclntab, &step, mayswitch)
}

// atSignalFrame says that the last frame is a signal's trampoline.
func (w *walker) atSignalFrame() bool {
	f := w.last()
	if f.PC.Kind() != unwind.KindReturn {
		return w.target.inSignalFrame(f.PC.Raw())
	}
	is, ok := w.sigs[f.PC.Raw()]
	if !ok {
		is = w.target.isSignalFrame(f.PC.Raw())
		w.sigs[f.PC.Raw()] = is
	}
	return is
}

// strategySignal names the host's own rule for signal trampolines.
const strategySignal = unwind.StrategyRegisters

// stepSignal leaves the frame of a signal's trampoline.
func (w *walker) stepSignal() bool {
	f := w.last()
	step, err := w.target.stepSignal(&f.Registers)
	if err != nil {
		w.refuse(strategySignal, err.Error(), 0, 0)
		return false
	}
	return w.take(strategySignal, &step, true)
}

// take judges a step out of the last frame and appends the caller.
func (w *walker) take(strategy string, step *unwind.Step, mayswitch bool) bool {
	arch, f := w.target.Arch, w.last()
	sp, _ := f.Registers.SP(arch)
	pc, _ := step.Caller.PC(arch)
	reason := w.codeSays(step)
	called := w.notCalled(step)
	reason = orElse(orElse(reason, called.reason), w.noFunction(step))
	reason = orElse(reason, w.hold(strategy, step))
	if reason == "" {
		reason = w.judge.accept(f.PC.Raw(), sp, step, mayswitch)
	}
	if reason != "" {
		w.refuse(strategy, reason, pc, step.CFA)
		return false
	}
	if called.unproven {
		w.unproven++
	} else {
		w.unproven = 0
	}
	w.doubt(step)
	w.lower(step, called.doubt)
	w.secondGuess(strategy, step)
	w.confirm(strategy, step)
	shown := w.shown(step)
	w.countScanned()
	f.CFA, f.Rule, w.calleeRule = step.CFA, step.Rule, step.Rule
	callerSP, _ := step.Caller.SP(arch)
	caller := unwind.Frame{
		PC: unwind.Code(pc, step.CallerKind), Strategy: strategy, Trust: step.Trust,
		Registers: step.Caller, Segment: w.judge.segmentOf(callerSP), DelveFrame: -1, Shown: shown,
	}
	if step.Note != "" {
		caller.Notes = []string{step.Note}
	}
	w.stack.Frames = append(w.stack.Frames, caller)
	return true
}

// doubt lowers the trust in a frame pointer that was followed out of code whose
// function nobody knows (a stripped library, JIT code): whether it keeps one could
// not be checked, as in an innermost frame (R4, R5). The same where the function is
// known and its code does not tell. Where mappings are unknown nothing can be
// checked of any frame, and the note has to do.
// Tests: TestFramePointerOutOfUnknownCode, TestFramePointerOutOfUnclearCode.
func (w *walker) doubt(step *unwind.Step) {
	f := w.last()
	if step.Trust != unwind.TrustFramePointer || f.PC.Kind() != unwind.KindReturn {
		return
	}
	fn, known := w.function(f.PC.Lookup(w.target.Arch))
	if known {
		rule, coded := w.codeOf(f)
		if rule != nil || !coded || fn.Go {
			return // codeSays has compared the two
		}
	}
	if known || w.target.Executable != nil {
		step.Trust = unwind.TrustScan
	}
	if step.Note == "" {
		step.Note = "callers may be missing: whether the function before keeps a frame pointer could not be checked"
	}
}

// refuse keeps a candidate that was not believed.
func (w *walker) refuse(strategy, reason string, pc, cfa uint64) {
	f := w.last()
	f.Rejected = append(f.Rejected, unwind.Rejection{Strategy: strategy, Reason: reason, PC: pc, CFA: cfa})
	w.reasons = append(w.reasons, strategy+": "+reason)
}

// stepClaim leaves the last frame as Delve believes, judged like any other
// candidate. Where there is no FDE Delve follows the frame pointer unchecked, so
// in C code its claims come last and have the least trust.
func (w *walker) stepClaim(fn Function) bool {
	arch, f := w.target.Arch, w.last()
	sp, _ := f.Registers.SP(arch)
	i := matchClaim(w.thread.Claims, f.PC.Raw(), sp, arch)
	if i < 0 || w.thread.Claims[i].CFA == 0 {
		return false
	}
	for j := i + 1; j < len(w.thread.Claims); j++ {
		c := &w.thread.Claims[j]
		if c.Inlined {
			continue
		}
		step := unwind.Step{CFA: w.thread.Claims[i].CFA, Caller: c.Registers, CallerKind: unwind.KindReturn,
			Trust: unwind.TrustScan, Note: "by Delve, which follows frame pointers unchecked: callers may be missing"}
		if fn.Go {
			step.Trust, step.Note = unwind.TrustCFI, ""
		}
		step.Caller.Set(arch.PC(), c.PC.Raw())
		if _, ok := step.Caller.SP(arch); !ok {
			step.Caller.Set(arch.SP(), step.CFA)
		}
		return w.take(unwind.StrategyDelve, &step, switchOf(fn) != notSwitch)
	}
	return false
}
