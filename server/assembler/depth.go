package assembler

import (
	"fmt"

	"github.com/clewdbg/clew/internal/unwind/callsite"
	"github.com/clewdbg/clew/internal/unwind/gocode"
	"github.com/clewdbg/clew/unwind"
)

// asmcgocall calls C on the system stack, and keeps there how to come back: the
// goroutine and the distance of its SP from its stack's top, since the stack may
// be copied meanwhile; or, where it was on the system stack already, the old SP
// itself. The code behind the call reads them back, and so tells where they are.
//
// Situation: the frame pointer that C gives back is the one that asmcgocall had
// when it called C, or not even that. Examples: C calls Go back, whose stack
// grows and moves: the frame pointers that C has saved point to the old stack; C
// code that uses rbp for data and has no tables; Go on arm64, where asmcgocall
// loads another frame pointer. A slot that Delve knows by number has moved
// before. What handles it: stepDepth. Tests: TestDepth; in integration,
// TestSwitches (grown), TestARM64; in integration/stepping, "asmcgocall, the stack
// moves".

// stepDepth leaves a frame of asmcgocall that has called C. It says false where
// the way back cannot be read; the frame pointer may do then.
func (w *walker) stepDepth(fn Function) bool {
	f, arch := w.last(), w.target.Arch
	slots, ok := w.wayBack(fn)
	if !ok {
		return false
	}
	sp, _ := f.Registers.SP(arch)
	old, ok := w.word(sp + uint64(slots.Old))
	if !ok {
		return false
	}
	rule := fmt.Sprintf("sp'=[sp+%d]", slots.Old)
	if slots.G >= 0 {
		top, ok := w.stackTop(sp, &slots)
		if !ok {
			return false
		}
		rule = fmt.Sprintf("sp'=g.stack.hi-[sp+%d]", slots.Old)
		old = top - old
	}
	if arch == unwind.ARM64 {
		old -= 8
	}
	step, err := w.target.stepFromFrame(fn, old)
	if err != nil {
		return false
	}
	step.Rule = rule + "; " + step.Rule
	pc, _ := step.Caller.PC(arch)
	if callee, ok := w.calleeBefore(pc); !ok || callee.Start != fn.Start {
		return false // the slots hold something else
	}
	w.otherRuntime(sp, &slots, &step)
	return w.take(unwind.StrategyGopclntab, &step, true)
}

// maxDepthCode is more than asmcgocall takes, in bytes, to go back to the
// goroutine's stack.
const maxDepthCode = 96

// wayBack reads where asmcgocall keeps the way back from the code behind its
// call of C. An innermost frame may have executed some of that.
func (w *walker) wayBack(fn Function) (gocode.WayBack, bool) {
	f, arch := w.last(), w.target.Arch
	pc := f.PC.Raw()
	if f.PC.Kind() == unwind.KindReturn {
		s, _, ok := gocode.ReadWayBack(arch, w.target.Code.Bytes(pc, maxDepthCode))
		return s, ok
	}
	for ra := pc; ra > fn.Start && pc-ra < maxDepthCode; ra-- {
		if _, call := callTarget(arch, ra, w.target.Code); !call {
			continue
		}
		if s, n, ok := gocode.ReadWayBack(arch, w.target.Code.Bytes(ra, maxDepthCode)); ok && pc <= ra+n {
			return s, true
		}
	}
	return gocode.WayBack{}, false
}

// stackTop reads the top of the stack of the goroutine that the slot names: from
// its runtime.g, or where that cannot be read from what is known of the thread.
func (w *walker) stackTop(sp uint64, slots *gocode.WayBack) (uint64, bool) {
	g, ok := w.word(sp + uint64(slots.G))
	if !ok || g == 0 {
		return 0, false
	}
	if top, ok := w.word(g + uint64(slots.TopAt)); ok {
		return top, true
	}
	if s := w.thread.Saved; s != nil && s.G == g {
		for _, segment := range w.thread.Segments {
			if segment.Kind == unwind.SegmentGoroutine {
				return segment.High, true
			}
		}
	}
	return 0, false
}

// maxGoStack is what Go's runtime lets a goroutine's stack grow to, in bytes.
const maxGoStack = 1 << 30

// otherRuntime makes known the stack of a goroutine that asmcgocall comes back to
// and that is none of the thread's.
//
// Situation: there are two of Go's runtimes in the process, and the thread knows
// the first one's goroutine only. Example: a Go program has opened a library that
// was built with -buildmode=c-shared, which calls back. What handles it: the
// bounds of the stack are in the runtime.g that asmcgocall has kept, lowest word
// first; what is found there has to hold the caller's stack pointer and to be
// writable memory throughout. That a call of this very asmcgocall is before the
// return address was checked. Test: integration/dap TestTwoRuntimes.
func (w *walker) otherRuntime(sp uint64, slots *gocode.WayBack, step *unwind.Step) {
	callerSP, ok := step.Caller.SP(w.target.Arch)
	if !ok || slots.G < 0 || len(w.judge.segments) == 0 || w.judge.segmentOf(callerSP) >= 0 {
		return
	}
	g, ok := w.word(sp + uint64(slots.G))
	if !ok {
		return
	}
	high, ok := w.word(g + uint64(slots.TopAt))
	low, ok2 := w.word(g + uint64(slots.TopAt) - uint64(w.target.Arch.PointerSize()))
	if !ok || !ok2 || low >= high || high-low > maxGoStack || callerSP < low || callerSP >= high {
		return
	}
	if r, ok := w.target.Writable.Find(low); ok && high <= r.End {
		w.judge.learn(unwind.Segment{Low: low, High: high, Kind: unwind.SegmentGoroutine})
	}
}

// callTarget gives where the direct call right before a return address goes to.
func callTarget(arch unwind.Arch, pc uint64, code CodeMap) (uint64, bool) {
	const most = 5
	for _, call := range callsite.Before(arch, code.Bytes(pc-most, most), pc) {
		if call.Direct {
			return call.Target, true
		}
	}
	return 0, false
}
