package assembler

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/clewdbg/clew/internal/unwind/callsite"
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
)

// Limits on frames that were scanned for (R7): in one stack, and in a row.
const (
	maxScanned      = 64
	maxScannedInRow = 8
)

const (
	noteUnconfirmed = "rests on a frame that was not found for certain, and no call here is known to have led to it"
)

// scans says that a strategy's frames are never trusted more than a scan's. It
// is asked for one frame at a time, so that better strategies have the next (R2).
func (s *Strategy) scans() bool { return s.Description.Trust <= unwind.TrustScan }

// mayNotScan says why no strategy that scans is asked for the caller of the last
// frame, "" if one may be.
func (w *walker) mayNotScan(fn Function, known bool) string {
	switch {
	case known && fn.Go:
		return "Go's own tables know this frame, and what a scan could find above it are older calls"
	case w.atSignalFrame():
		return "no call led to a signal's trampoline"
	case w.scanned >= maxScanned:
		return fmt.Sprintf("%d frames of this stack were found by scanning; no more are looked for", w.scanned)
	case w.scannedInRow >= maxScannedInRow:
		return fmt.Sprintf("%d frames in a row were found by scanning; no more are looked for", w.scannedInRow)
	}
	return ""
}

// noFunction says that what a scan found lies in none of the functions of an image
// that has symbols for all of them (R7), "" if not.
//
// Situation: bytes that are no code look like a call. Example: constants that
// hand-written assembly keeps between its functions. Test: TestR7KnownFunction.
func (w *walker) noFunction(step *unwind.Step) string {
	ra, ok := step.Caller.PC(w.target.Arch)
	if !w.scanning || !ok {
		return ""
	}
	at := unwind.Code(ra, step.CallerKind).Lookup(w.target.Arch)
	if _, known := w.function(at); known || !w.target.Code.Complete(at) || w.signalReturn(ra) {
		return ""
	}
	return fmt.Sprintf("return address %#x lies in no function of an image that has symbols for all", ra)
}

// countScanned keeps count of the frames that scans find.
func (w *walker) countScanned() {
	if !w.scanning {
		w.scannedInRow = 0
		return
	}
	w.scanned++
	w.scannedInRow++
}

// confirm lowers the trust of a step that rests on what was not found for
// certain.
//
// A scan's own step is confirmed by code: what the call before the return address
// has called leads to the frame that is left, and says that its return address
// lies there. If it does not, everything above rests on a guess: it has the trust
// of a scan, and the stack has no end that is known. Behind other steps of that
// trust one step is enough whose return address lies behind a call of code that
// leads here: then a frame and its caller speak for each other.
//
// A frame pointer that was followed out of code of which nobody knows whether it
// keeps one is a guess too, unless a call shows that it led here, or a prologue
// that the code keeps one: callers may be missing, and nothing above would show it.
//
// Situation: a scan took an old return address for the caller. Example: on the
// system stack lie the frames that have started the thread; a walk of a goroutine
// that comes upon them would go on by their tables, to main's caller. Another
// situation: a function without frame pointer in a stripped library, called
// through a pointer by one that keeps it, which is then skipped. Tests:
// TestR1NothingAboveAGuess, TestR1ConfirmedScan, TestFramePointerOutOfUnknownCode.
func (w *walker) confirm(strategy string, step *unwind.Step) {
	switch {
	case w.scanning:
		if w.guess == 0 && !w.codeAgrees(step) {
			w.guess = w.depth()
		}
	case step.Trust <= unwind.TrustScan:
		if w.guess == 0 && w.guesses(strategy, step) {
			w.guess = w.depth()
		}
	case w.guess > 0, w.last().Trust <= unwind.TrustScan && !w.borneOut(step):
		step.Trust = unwind.TrustScan
		if step.Note == "" {
			step.Note = noteUnconfirmed
		}
	}
}

// guesses says that a step that does not rest on tables is a guess: no code speaks
// for it.
func (w *walker) guesses(strategy string, step *unwind.Step) bool {
	return !w.nowhere(w.last()) && w.asm.trustOf(strategy) <= unwind.TrustFramePointer && !w.speaksFor(step)
}

// speaksFor says that code shows a step to be right that rests on a frame pointer,
// or at least that the caller is the one who called.
func (w *walker) speaksFor(step *unwind.Step) bool {
	probe := *step // which is not to lose its frame pointer for this
	return w.borneOut(step) || w.codeAgrees(&probe) || w.prologueAgrees(&probe)
}

// shown says of the step from the innermost frame, where nothing but a scan or a
// frame pointer in unknown code speaks for it, that code shows it to be right:
// steps of the program rest on it.
//
// Situation: a local function of a stripped library has no symbol, and nobody
// knows where it begins. The call before the return address says it: from there
// its code is simulated. Of one that was called through a pointer (a thread's
// first function) its own prologue does. Test: integration/stepping,
// linked-O2-fp-stripped; TestShownByPrologue.
func (w *walker) shown(step *unwind.Step) bool {
	if w.depth() != 1 || step.Trust > unwind.TrustScan {
		return false
	}
	probe := *step // which is not to lose its frame pointer for this
	return w.codeAgrees(&probe) || w.prologueAgrees(&probe)
}

// prologueAgrees looks behind the last frame's place for a prologue that sets up a
// frame pointer, on an address where compilers let functions begin, or anywhere
// where its two instructions follow each other, and says
// whether the code from there, which must lead to the frame's place, shows the
// step to be right. Only the nearest that does so counts: behind it lie other
// functions, whose code does not lead here.
func (w *walker) prologueAgrees(step *unwind.Step) bool {
	if w.target.Arch != unwind.AMD64 {
		return false
	}
	pc := w.last().PC.Raw()
	rule, known := w.prologues[pc]
	if !known {
		rule = w.prologueBefore(pc)
		if w.prologues == nil {
			w.prologues = make(map[uint64]*prologue.Rule)
		}
		w.prologues[pc] = rule
	}
	return rule != nil && w.agrees(rule, step)
}

// prologueBefore gives the rule that the prologue found behind pc leads to there, nil
// if none does.
func (w *walker) prologueBefore(pc uint64) *prologue.Rule {
	tried := 0
	low, code := w.codeBefore(pc)
	for i := int(pc - low); i >= 0 && tried < maxPrologues; i-- {
		if i >= len(code) {
			continue
		}
		at := low + uint64(i)
		here := code[i:]
		unaligned := at%functionAlign != 0 && !bytes.HasPrefix(here, framed)
		if !unaligned {
			here = bytes.TrimPrefix(here, endbr64)
		}
		if unaligned || len(here) == 0 || here[0] != pushRBP {
			continue
		}
		tried++
		rule := w.simulate(Function{Start: at, End: pc + codeBehind, Exact: true}, pc)
		if rule != nil && byFrame(rule) {
			return rule
		}
	}
	return nil
}

// codeBefore gives up to maxPrologueDistance bytes of code before pc and a few
// behind, and where they begin: in the first page from which on all is known.
func (w *walker) codeBefore(pc uint64) (low uint64, code []byte) {
	if pc < lowestPC || pc > ^uint64(0)-pageSize {
		return pc, nil
	}
	for low = pc - min(pc, maxPrologueDistance); low < pc; low = low&^(pageSize-1) + pageSize {
		code, _ = w.calls().Source.Code(low, int(pc-low)+len(endbr64)+1) // this source has no errors
		if uint64(len(code)) >= pc-low {
			return low, code
		}
	}
	return pc, nil
}

// byFrame says that a rule finds the caller by an established frame pointer.
func byFrame(rule *prologue.Rule) bool {
	return rule.CFA == prologue.Expr{Base: prologue.RBP, Off: 16} && rule.FP == prologue.Loc{Kind: prologue.AtCFA, Off: -16}
}

const (
	functionAlign       = 16 // of gcc and clang on amd64, when they optimise
	maxPrologueDistance = 16 << 10
	maxPrologues        = 64 // that are simulated: bytes of any kind may look like one
	pushRBP             = 0x55
)

var (
	endbr64 = []byte{0xf3, 0x0f, 0x1e, 0xfa}
	framed  = []byte{pushRBP, 0x48, 0x89, 0xe5} // push %rbp; mov %rsp,%rbp
)

// codeAgrees says that code shows a step to be right: the function's own, if it
// is known, else that of the function that the call has called.
func (w *walker) codeAgrees(step *unwind.Step) bool {
	f := w.last()
	if rule := w.ruleOf(f); rule != nil {
		return w.agrees(rule, step)
	}
	pc := f.PC.Raw()
	calls, _ := w.callsBefore(step)
	for _, call := range calls {
		answer, entry, err := w.tracer.Leads(call, f.PC)
		if err != nil || answer != callsite.Reached || entry > pc || pc-entry > maxCode-codeBehind {
			continue
		}
		rule := w.simulate(Function{Start: entry, End: pc + codeBehind, Exact: true}, pc)
		if rule != nil && w.agrees(rule, step) {
			return true
		}
	}
	return false
}

// codeBehind is how much code behind a frame's place is simulated too, in bytes,
// where it is not known how far its function goes.
const codeBehind = 256

// agrees says that a rule gives the step. What the step has for the caller's
// frame pointer is left out where the rule does not give it.
func (w *walker) agrees(rule *prologue.Rule, step *unwind.Step) bool {
	f, arch := w.last(), w.target.Arch
	base, ok := f.Registers.Get(unwind.Register(rule.CFA.Base))
	if !ok || rule.CFA.Deref || base+uint64(rule.CFA.Off) != step.CFA {
		return false
	}
	ra, known := w.returnAddress(f, rule, step.CFA)
	if pc, _ := step.Caller.PC(arch); !known || ra&^w.target.PACMask != pc {
		return false
	}
	fp, known := f.Registers.FP(arch)
	switch rule.FP.Kind {
	case prologue.Same:
	case prologue.AtCFA:
		fp, known = w.word(step.CFA + uint64(rule.FP.Off))
	default:
		known = false
	}
	if got, ok := step.Caller.FP(arch); ok && (!known || got != fp) {
		step.Caller.Forget(arch.FP())
	}
	return true
}

// byFramePointer says whether a rule has the CFA from the frame pointer.
func (w *walker) byFramePointer(rule string) bool {
	return strings.HasPrefix(rule, "cfa="+w.target.Arch.RegisterName(w.target.Arch.FP()))
}

// borneOut says that the step's return address lies behind a call of code that
// leads to the frame that is left.
func (w *walker) borneOut(step *unwind.Step) bool {
	calls, _ := w.callsBefore(step)
	for _, call := range calls {
		if answer, _, err := w.tracer.Leads(call, w.last().PC); err == nil && answer == callsite.Reached {
			return true
		}
	}
	ra, _ := step.Caller.PC(w.target.Arch)
	return step.CallerKind == unwind.KindReturn && w.target.isSignalFrame(ra)
}

// callsBefore gives the calls that the bytes before a step's return address can
// be; known is false where the code is not known.
func (w *walker) callsBefore(step *unwind.Step) (calls []callsite.Call, known bool) {
	ra, ok := step.Caller.PC(w.target.Arch)
	if !ok || step.CallerKind != unwind.KindReturn {
		return nil, false
	}
	code, _ := w.calls().Source.Code(ra-callsite.Longest, callsite.Longest) // this source has no errors
	if len(code) < callsite.Longest {
		return nil, false
	}
	return callsite.Before(w.target.Arch, code, ra), true
}

// traceBudget bounds the instructions that are decoded for one stack.
const traceBudget = 2_000_000

// codeSource gives a target's code and memory to a tracer. It keeps the pages of
// code that it has read.
type codeSource struct {
	target *Target
	pages  map[uint64][]byte
}

// Code implements [callsite.Source].
func (s *codeSource) Code(addr uint64, n int) ([]byte, error) {
	if s.pages == nil {
		s.pages = make(map[uint64][]byte)
	}
	var out []byte
	for len(out) < n {
		at := addr + uint64(len(out))
		base := at &^ (pageSize - 1)
		page, ok := s.pages[base]
		if !ok {
			page = s.target.original(base, pageSize)
			s.pages[base] = page
		}
		off := int(at - base)
		if off >= len(page) {
			// An image may begin within a page.
			if len(page) == 0 {
				out = append(out, s.target.original(at, n-len(out))...)
			}
			break
		}
		out = append(out, page[off:min(len(page), off+n-len(out))]...)
	}
	return out, nil
}

// Word implements [callsite.Source].
func (s *codeSource) Word(addr uint64) (uint64, bool, error) {
	v, err := s.target.word(addr)
	return v, err == nil, nil
}

// original gives original bytes of code, as many as can be had without a gap:
// from the image's file, else from memory, which has no breakpoints in it.
func (t *Target) original(addr uint64, n int) []byte {
	code := t.Code.Bytes(addr, n)
	if len(code) == n || !t.Executable.Contains(addr) {
		return code
	}
	if more := readUpTo(t.Memory, addr, 0, n); len(more) > len(code) {
		return more
	}
	return code
}

// doubtGuess says why the end of a stack is not believed, "" if it is: below is a
// frame that a scan has guessed.
func (w *walker) doubtGuess() string {
	if w.guess == 0 {
		return ""
	}
	return fmt.Sprintf("frame %d was only guessed, so that callers may be missing", w.guess)
}
