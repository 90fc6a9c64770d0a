package assembler

import (
	"cmp"

	"github.com/clewdbg/clew/internal/unwind/simulate"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// ends decide whether the stack ends at a frame, in this order. An end is a claim
// like a frame (R16). The first check that applies decides; if none applies, it is
// the end.
//
// Tables that mark an outermost frame are trusted, except for Go's code, and where other
// tables or the frame's own code know a caller ([walker.askStrategies]). A frame pointer of 0 (R4) and a return address below 4096 (R8) are words that may be there
// for other reasons.
var ends = []endCheck{
	{ruled{"a guess below an outermost function", "R16"}, uncertain, "", func(e *ending) bool { return e.outermost && e.guessed != "" }},
	{ruled{"outermost function", "R8"}, isEnd, "", func(e *ending) bool { return e.outermost }},
	{ruled{"scan", "R8"}, noEnd, "a scan knows no end", func(e *ending) bool { return e.scans }},
	{ruled{"Go", "R8"}, noEnd, "Go's own tables know where Go's stacks end", func(e *ending) bool { return e.function.known && e.function.Go }},
	{ruled{"below the stack", "R8"}, noEnd, "the stack pointer lies below the stack, where nothing was pushed", func(e *ending) bool { return e.below }},
	{ruled{"a guess below tables", "R16"}, uncertain, "", func(e *ending) bool { return e.byTables && e.guessed != "" }},
	{ruled{"tables", "R8"}, isEnd, "", func(e *ending) bool { return e.byTables }},
	{ruled{"guess", "R16"}, noEnd, "", func(e *ending) bool { return e.guessed != "" }},
	{ruled{"innermost", "R4"}, noEnd, "nothing shows that the innermost frame uses it", func(e *ending) bool { return e.byFP && e.depth == 1 }},
	{ruled{"not marked", "R4"}, noEnd, "nothing shows that this function is an outermost one: code without frame pointers keeps the 0 of a thread's start", func(e *ending) bool { return e.byFP && !e.marked }},
	{ruled{"unknown stack", "R14"}, isEnd, "", func(e *ending) bool { return e.stack.High == 0 }},
	{ruled{"signal", "R14"}, noEnd, "a signal's handler must lead back to what was interrupted", func(e *ending) bool { return e.stack.Kind == unwind.SegmentSignal }},
	{ruled{"called by Go", "R14"}, noEnd, "C code called by Go must lead back to Go", func(e *ending) bool { return e.stack.Kind == unwind.SegmentG0 && e.goroutine }},
	{ruled{"far from the top", "R8"}, noEnd, "the stack goes on far above", func(e *ending) bool { return e.stack.High-e.sp > nearTop }},
}

// endCheck decides if it applies; why is the reason against an end; where it is
// "", the reason is the guess that the stack rests on.
type endCheck struct {
	ruled
	answer endAnswer
	why    string
	holds  func(*ending) bool
}

type endAnswer uint8

const (
	isEnd     endAnswer = iota
	noEnd               // the stack goes on
	uncertain           // it would be the end, but callers may be missing: the stack is truncated
)

// nearTop is how far below the top of its stack a thread's outermost frame may
// lie, in bytes: glibc keeps the thread's own data there (struct pthread, TLS).
const nearTop = 8 << 10

// ending is a claim that the stack ends at a frame, with the evidence for and
// against it.
type ending struct {
	strategy  string // that claims it
	reason    string // of the claim
	outermost bool   // by a known outermost function; else a strategy says so
	byTables  bool   // that there is no caller
	byFP      bool   // by a frame pointer, or by less
	scans     bool
	function  *place
	depth     int
	below     bool           // the frame is the innermost one, right below a stack that has overflown
	marked    bool           // the frame's function has set the frame pointer to 0, as outermost ones do
	stack     unwind.Segment // that the frame lies on, zero if unknown
	sp        uint64
	goroutine bool   // the stack is a goroutine's
	guessed   string // why the walk is not certain to be in this stack at all
}

func (e *ending) judge() (answer endAnswer, why string, by ruled) {
	for i := range ends {
		if c := &ends[i]; c.holds(e) {
			return c.answer, cmp.Or(c.why, e.guessed), ruled{"end: " + c.name, c.rule}
		}
	}
	return isEnd, "", ruled{}
}

// ended ends the stack where the last frame is a known outermost one (R8). A frame that stopped
// inside mstart's own first instructions is on the caller's stack still, so only a return address
// counts.
func (w *walker) ended() bool {
	f := w.last()
	fn := w.code.functionOf(f)
	why := fn.Name
	switch {
	case w.carried.context:
		why = contextStart
	case !fn.Go && w.code.startsThread(f):
		if why = threadStart; fn.Exact {
			why = fn.Name
		}
	case !fn.known || !fn.Outermost || f.PC.Kind() != unwind.KindReturn || notOutermost[fn.Name]:
		return false
	}
	return w.endOutermost(why) == reachedEnd
}

// endOutermost ends the stack at a known outermost function.
func (w *walker) endOutermost(why string) outcome {
	result, _, _ := w.conclude(&ending{reason: why, outermost: true, guessed: w.carried.guessed()})
	return result
}

// claim is a strategy's claim that the stack ends at the last frame.
func (w *walker) claim(s *Strategy, r *unwind.WalkResult) *ending {
	f, trust := w.last(), s.Description.Trust
	e := &ending{
		strategy: s.Description.Name, reason: cmp.Or(r.Reason, s.Description.Name), byTables: trust > unwind.TrustFramePointer && r.CFA == 0,
		byFP: trust <= unwind.TrustFramePointer, scans: s.scans(), function: w.code.functionOf(f), depth: w.depth(),
		goroutine: w.thread.Goroutine != 0, guessed: w.carried.guessed(),
	}
	e.sp = w.position()
	e.stack, e.below = w.stacks.segment(e.sp), w.stacks.below && e.depth == 1
	e.marked = marksEnd(w.code.certainRule(f))
	return e
}

// marksEnd reports whether a function has lost its caller's frame pointer: outermost
// ones set it to 0 (System V ABI, AMD64 supplement, "Initial Stack and Register
// State"), and compiled ones save it.
func marksEnd(row *simulate.Row) bool { return row != nil && row.FP.From == rule.Lost }

// conclude ends the stack as claimed, unless a check objects. Every end of every stack is decided here (R16).
func (w *walker) conclude(e *ending) (result outcome, why string, by ruled) {
	switch answer, why, by := e.judge(); answer {
	case noEnd:
		return nothing, why, by
	case uncertain:
		if e.outermost {
			e.reason += " would be the end"
		}
		return w.truncate(e.reason + ", but " + why), "", by
	}
	w.stack.Stop, w.stack.Reason = unwind.End, e.reason
	return reachedEnd, "", ruled{}
}
