package scan

import (
	"cmp"
	"context"
	"fmt"

	"github.com/clewdbg/clew/internal/unwind/callsite"
	"github.com/clewdbg/clew/internal/unwind/walk"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// The windows in which a return address is looked for, in words (R7).
const (
	words          = 40
	wordsInnermost = 160
	wordSize       = 8
)

// maxRecordGap is the largest distance between two frame records, in bytes (R7).
const maxRecordGap = 128 << 10

// instructionBudget bounds the instructions that are decoded to make one step.
const instructionBudget = 200_000

// walker makes one walk. It is the state of the frame that is left next.
type walker struct {
	walk.Walk
	sp, fp unwind.Register
	config config
	source *source

	pcAddr   unwind.CodeAddr
	spValue  uint64
	regs     unwind.Registers
	function *unwind.FunctionCode // of the frame asked about; nil for its callers
	tracer   callsite.Tracer
}

// run fills in the result.
func (w *walker) run(ctx context.Context) error {
	w.sp, w.fp, w.regs = w.Arch.SP(), w.Arch.FP(), w.Request.Registers
	pc, pcKnown := w.regs.PC(w.Arch)
	sp, spKnown := w.regs.SP(w.Arch)
	switch {
	case !pcKnown || !spKnown:
		w.Stop(unwind.StopNoRule, "the program counter or the stack pointer is not known")
		return nil
	case sp%wordSize != 0:
		w.Broken(0, 0, "stack pointer %#x is not a multiple of %d", sp, wordSize)
		return nil
	}
	if w.Arch != unwind.ARM64 {
		w.config.pacMask = 0
	}
	w.pcAddr, w.spValue, w.function = unwind.Code(pc, w.Request.Kind), sp, w.Request.Function
	w.source = newSource(w.Request.Stack, w.config.executable, sp)
	w.tracer = callsite.Tracer{Arch: w.Arch, Source: w.source}
	for more := true; more; {
		more = w.step()
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// missing ends the walk for lack of the memory that the source has noted.
func (w *walker) missing() bool { return w.Need(w.source.need) }

// step leaves one frame, and reports whether the walk goes on.
func (w *walker) step() bool {
	w.tracer.Budget = instructionBudget
	if pc := w.pcAddr.Raw(); pc < unwind.LowestCode && w.pcAddr.Kind() == unwind.KindReturn {
		return w.Stop(unwind.StopNoRule, "return address %#x lies below %d", pc, unwind.LowestCode)
	}
	if e, ok := w.ownEntry(); ok {
		return w.byCode(e)
	}
	return w.search()
}

// window returns the number of words that may be searched (R7).
func (w *walker) window() uint64 {
	if w.pcAddr.Kind() == unwind.KindInstruction {
		return wordsInnermost
	}
	return words
}

// byCode leaves a frame whose function is known to keep its return address at
// one place: only that place is examined.
func (w *walker) byCode(e *entry) bool {
	if !e.onStack {
		return w.Stop(unwind.StopNoRule, "the function's own code has its return address in a register: there is nothing to scan for")
	}
	if !w.inWindow(e.slot) {
		return w.Stop(unwind.StopNoRule, "the function's own code puts its return address at %#x, outside the %d words from %#x on that are searched",
			e.slot, w.window(), w.spValue)
	}
	if !w.inSegment(e.slot) {
		return w.Stop(unwind.StopNoRule, "the function's own code puts its return address at %#x, outside the stack", e.slot)
	}
	c, ok, err := w.candidate(e.slot)
	switch {
	case err != nil:
		return w.missing()
	case !ok:
		return w.Stop(unwind.StopNoRule, "the function's own code puts its return address at %#x, and no return address there leads here", e.slot)
	}
	c.entry = e
	return w.push(c)
}

// search examines one word after the other. A word whose place agrees with the
// function's code is taken at once; otherwise the first that is not refused.
func (w *walker) search() bool {
	var best *candidate
	tally := refusals{}
	for i := range w.window() {
		slot := w.spValue + i*wordSize
		if !w.inWindow(slot) {
			return w.finish(best, i, &tally, "the end of the address space")
		}
		if !w.inSegment(slot) {
			return w.finish(best, i, &tally, "the end of the stack")
		}
		c, ok, err := w.judge(slot, &tally)
		if err != nil {
			return w.missing()
		}
		if !ok {
			continue
		}
		if c.entry != nil {
			return w.push(c)
		}
		best = cmp.Or(best, c)
	}
	return w.finish(best, w.window(), &tally, "")
}

// judge decides whether the word at slot can be the return address. Where its
// call shows the function's entry, the candidate is the word at the place that
// the function's code names, which may be another.
func (w *walker) judge(slot uint64, tally *refusals) (*candidate, bool, error) {
	c, ok, err := w.candidate(slot)
	if err != nil {
		return nil, false, err
	}
	if !ok {
		tally.add(c)
		return nil, false, nil
	}
	if c.answer != callsite.Reached {
		return c, true, nil
	}
	e, known, err := w.entryAt(c.begin)
	if err != nil || !known {
		return c, true, err
	}
	if !e.onStack {
		tally.contradicted++
		return nil, false, nil
	}
	if e.slot == slot {
		c.entry = e
		return c, true, nil
	}
	if w.inWindow(e.slot) && w.inSegment(e.slot) {
		other, ok, err := w.candidate(e.slot)
		if err != nil {
			return nil, false, err
		}
		if ok {
			other.entry = e
			return other, true, nil
		}
	}
	if !e.certain {
		return c, true, nil
	}
	tally.contradicted++
	return nil, false, nil
}

// inWindow reports whether a word lies in the window.
func (w *walker) inWindow(slot uint64) bool {
	return slot >= w.spValue && slot%wordSize == 0 && (slot-w.spValue)/wordSize < w.window() && slot <= ^uint64(0)-2*wordSize
}

// inSegment reports whether a word lies on the stack, as far as that is known.
func (w *walker) inSegment(slot uint64) bool {
	s := w.Request.Segment
	return s.High == 0 || slot >= s.Low && slot < s.High && s.High-slot >= wordSize
}

// refusals counts the words that were not taken, by reason.
type refusals struct{ noCall, elsewhere, contradicted int }

func (r *refusals) add(c *candidate) {
	switch {
	case c == nil:
	case c.calls == 0:
		r.noCall++
	default:
		r.elsewhere++
	}
}

// finish takes the best candidate after n words, or ends the walk without one.
func (w *walker) finish(best *candidate, n uint64, tally *refusals, border string) bool {
	if best != nil {
		return w.push(best)
	}
	where := fmt.Sprintf("none of %d words from %#x on is a return address that leads here", n, w.spValue)
	if border != "" {
		where += ", up to " + border
	}
	return w.Stop(unwind.StopNoRule, "%s (in code but behind no call: %d, of calls that cannot lead here: %d, contradicted by the function's code: %d)",
		where, tally.noCall, tally.elsewhere, tally.contradicted)
}

// candidate judges the word at slot by itself. Where ok is false, it is no
// candidate; it is nil if the word does not even point into code.
func (w *walker) candidate(slot uint64) (c *candidate, ok bool, err error) {
	word, known := w.source.stack(slot)
	if !known {
		w.source.need = unwind.Range{Start: slot, End: slot + wordSize}
		return nil, false, errNeed
	}
	ra := rule.Strip(word, w.config.pacMask)
	at := uint64(unwind.ReturnAddr(ra).Lookup(w.Arch))
	in, inCode := w.config.executable.Find(at)
	if !inCode || ra < unwind.LowestCode || w.Arch == unwind.ARM64 && ra%4 != 0 {
		return nil, false, nil
	}
	c = &candidate{slot: slot, ra: ra}
	start := max(in.Start, ra-min(ra, callsite.Longest))
	code, err := w.source.Code(start, int(ra-start))
	if err != nil {
		return c, false, err
	}
	if start+uint64(len(code)) != ra {
		return c, false, nil // the host does not have that code
	}
	calls, _ := callsite.Before(w.Arch, code, ra)
	for _, call := range calls {
		if call.Direct && !w.config.executable.Contains(call.Target) {
			continue
		}
		c.calls++
		answer, begin, err := w.tracer.Leads(call, w.pcAddr)
		if err != nil {
			return c, false, err
		}
		if answer > c.answer {
			c.answer, c.begin = answer, begin
		}
	}
	if c.answer == callsite.Never && w.config.os == "linux" {
		code, err := w.source.Code(ra, callsite.SignalReturnSize)
		if err != nil {
			return c, false, err
		}
		c.signal = callsite.IsSignalReturn(w.Arch, code)
	}
	return c, c.signal || c.answer > callsite.Never, nil
}
