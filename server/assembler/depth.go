package assembler

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clewdbg/clew/internal/unwind/gocode"
	"github.com/clewdbg/clew/unwind"
)

// asmcgocall calls C on the system stack, and keeps there the way back: the
// goroutine and the distance of its SP from its stack's top, since the stack may
// be copied meanwhile; or, where it was on the system stack already, the old SP
// itself. The code behind the call reads them, and so shows where they are.

// stepDepth leaves a frame of asmcgocall that has called C. There is no step if
// the way back cannot be read; then the frame pointer may do.
func (g *goFrame) stepDepth() goWay {
	if g.way != savesDepth {
		return goWay{}
	}
	slots, ok := g.wayBack()
	if !ok {
		return goWay{}
	}
	old, rule, ok := g.savedSP(&slots)
	if !ok {
		return goWay{}
	}
	if g.target.Arch == unwind.ARM64 {
		old -= 8
	}
	record := machineOf(g.target.Arch).record
	if record == nil {
		return goWay{}
	}
	regs := g.frame.Registers
	regs.Set(g.target.Arch.FP(), old)
	if r, err := record(g); err != nil || g.by(&r, &regs) != nil {
		return goWay{}
	}
	g.step.Rule = rule + "; " + g.step.Rule
	pc, _ := g.step.Caller.PC(g.target.Arch)
	if callee := g.directCallee(pc); !callee.known || callee.Start != g.fn.Start {
		return goWay{} // the slots hold something else
	}
	return goWay{candidate: candidate{step: g.step, switches: true, stack: g.otherRuntime(&slots)}}
}

// savedSP reads the SP that asmcgocall had on the other stack, and returns its
// place.
func (g *goFrame) savedSP(slots *gocode.WayBack) (sp uint64, rule string, ok bool) {
	sp, ok = g.word(g.sp + uint64(slots.Old))
	if !ok || slots.G < 0 {
		return sp, fmt.Sprintf("sp'=[sp+%d]", slots.Old), ok
	}
	top, ok := g.stackTop(slots)
	return top - sp, fmt.Sprintf("sp'=g.stack.hi-[sp+%d]", slots.Old), ok
}

// maxDepthCode is more than asmcgocall takes, in bytes, to go back to the
// goroutine's stack.
const maxDepthCode = 96

// wayBack reads where asmcgocall keeps the way back from the code behind its
// call of C. An innermost frame may have executed some of that, or stand at the call.
func (g *goFrame) wayBack() (gocode.WayBack, bool) {
	t, pc := g.target, g.frame.PC.Raw()
	if g.frame.PC.Kind() == unwind.KindReturn {
		if s, _, ok := gocode.ReadWayBack(t.Arch, t.Code.Bytes(pc, maxDepthCode)); ok || t.Arch == unwind.AMD64 {
			return s, ok
		}
	}
	ra, size := pc, uint64(1)
	if t.Arch == unwind.ARM64 {
		ra, size = pc+4, 4
	}
	for ; ra > g.fn.Start && pc < ra+maxDepthCode; ra -= size {
		if !t.behindCall(ra) {
			continue
		}
		if s, n, ok := gocode.ReadWayBack(t.Arch, t.Code.Bytes(ra, maxDepthCode)); ok && pc <= ra+n {
			return s, true
		}
	}
	return gocode.WayBack{}, false
}

// stackTop reads the top of the stack of the goroutine that the slot names: from
// its runtime.g or, if that cannot be read, from the thread's data.
func (g *goFrame) stackTop(slots *gocode.WayBack) (uint64, bool) {
	addr, top, ok := g.kept(slots)
	if ok {
		return top, true
	}
	if s := g.thread.Saved; addr == 0 || s == nil || s.G != addr {
		return 0, false
	}
	i := slices.IndexFunc(g.thread.Segments, func(s unwind.Segment) bool { return s.Kind == unwind.SegmentGoroutine })
	if i < 0 {
		return 0, false
	}
	return g.thread.Segments[i].High, true
}

// kept reads the runtime.g that the slot names, and the top of its stack.
func (g *goFrame) kept(slots *gocode.WayBack) (addr, top uint64, ok bool) {
	if addr, ok = g.word(g.sp + uint64(slots.G)); !ok || addr == 0 {
		return 0, 0, false
	}
	top, ok = g.word(addr + uint64(slots.TopAt))
	return addr, top, ok
}

// maxGoStack is Go's limit for the size of a goroutine's stack, in bytes.
const maxGoStack = 1 << 30

// otherRuntime returns the stack of a goroutine that asmcgocall comes back to, where
// it is not one of the thread's; else nil. Its bounds are in the runtime.g that
// asmcgocall has kept, lowest word first.
func (g *goFrame) otherRuntime(slots *gocode.WayBack) *unwind.Segment {
	sp, _ := g.step.Caller.SP(g.target.Arch)
	if slots.G < 0 || len(g.stacks.segments) == 0 || g.stacks.index(sp) >= 0 {
		return nil
	}
	addr, high, ok := g.kept(slots)
	low, readable := g.word(addr + uint64(slots.TopAt) - uint64(g.target.Arch.PointerSize()))
	writable, mapped := g.target.Writable.Find(low)
	if known := ok && readable && mapped; !known || sp < low || sp >= high || high > min(writable.End, low+maxGoStack) {
		return nil
	}
	return &unwind.Segment{Low: low, High: high, Kind: unwind.SegmentGoroutine}
}

const notePast = "C's frames between are lost: a panic has passed them, and C that was called since has used their stack"

// stepPast leaves a frame of cgocallback whose caller on the system stack is lost, as C was called again there by what a
// panic has deferred. Above the frame on the goroutine's stack is where asmcgocall has left it: cgocallback has
// pushed the saved program counter there (runtime/asm_amd64.s), and above it is asmcgocall's record. Without a panic the
// way back through C was overwritten by a fault of the program's, and C's frames are still to come.
func (g *goFrame) stepPast() goWay {
	arch, was := g.target.Arch, g.frame.PC.Kind() == unwind.KindReturn
	if arch != unwind.AMD64 || strings.TrimSuffix(g.fn.Name, ".abi0") != "runtime.cgocallback" || !was || !g.fn.HasSPDelta || g.left || !g.leftKnown || !g.panics() {
		return goWay{}
	}
	record := g.sp + uint64(g.fn.SPDelta) + 8 // of asmcgocall
	fp, ok := g.word(record)
	ra, readable := g.word(record + 8)
	if callee := g.directCallee(ra); !ok || !readable || !callee.known || callee.switchKind() != savesDepth {
		return goWay{}
	}
	*g.step = unwind.Step{CFA: record + 16, CallerKind: unwind.KindReturn, Trust: unwind.TrustScan, Note: notePast,
		Rule: fmt.Sprintf("cfa=rsp+%d; ra=[cfa-8]; fp=[cfa-16]", g.fn.SPDelta+24)}
	g.step.Caller.Set(arch.PC(), ra)
	g.step.Caller.Set(arch.SP(), record+16)
	g.step.Caller.Set(arch.FP(), fp)
	return goWay{candidate: candidate{step: g.step, entered: true}, past: true}
}

// runsDeferred are the functions of the runtime that run what a goroutine has deferred, also beyond C's frames.
var runsDeferred = map[string]bool{"runtime.gopanic": true, "runtime.Goexit": true}

// panics reports whether what a panic has deferred, or the goroutine's end, runs in a frame that the goroutine's stack
// has below this one, and that was not guessed.
func (g *goFrame) panics() bool {
	return slices.ContainsFunc(g.walked, func(f unwind.Frame) bool {
		fn := g.functionOf(&f)
		return f.Segment == g.frame.Segment && f.Trust > unwind.TrustScan && fn.known && fn.Go && runsDeferred[fn.Name]
	})
}
