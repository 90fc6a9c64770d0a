package assembler

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"github.com/clewdbg/clew/internal/unwind/callsite"
	"github.com/clewdbg/clew/unwind"
)

// verdicts keeps what code says of return addresses, for all stacks of one stop:
// many stacks have many frames in common.
type verdicts struct {
	mu    sync.Mutex
	known map[verdictKey]verdict
}

type verdictKey struct {
	ra     uint64
	callee unwind.CodeAddr
	tables bool // the step rests on tables
}

// verdict is what code says of a return address: reason is why it cannot be one,
// doubt why it need not be; "" for nothing. unproven says that a call ends there
// which may or may not have led here: it is one through a register or pointer.
type verdict struct {
	reason, doubt string
	unproven      bool
}

// notCalled says what the code around a step's return address says against it: a
// call must end there, and must lead to the function that is left. Whoever gives
// the step, its return address is a word of memory, and memory can be overwritten;
// what is there instead is mostly no address that a call has left.
//
// Situation: a buffer that was written beyond its end, or a frame pointer that
// leads to a record of another frame. Example: another function's return address
// where this one's should be. What handles it: the refusal here, where the code is
// known; a call through a register or pointer could lead anywhere and speaks for
// itself. Tests: TestReturnAddressFollowsACall, TestCallLeadsElsewhere,
// TestGoAndC, TestGoexitLiesAtTheTop, and integration/hostile.
//
// No call leads to: a signal's trampoline; the code that a handler of Go's has
// made look as if it had called (injectsReturn); goexit, which newproc puts
// below a goroutine's first function; __start_context, which makecontext puts
// below a context's.
func (w *walker) notCalled(step *unwind.Step) verdict {
	arch := w.target.Arch
	ra, ok := step.Caller.PC(arch)
	if !ok || step.CallerKind != unwind.KindReturn {
		return verdict{}
	}
	if reason := w.badGoexit(step, ra); reason != "" {
		return verdict{reason: reason}
	}
	f := w.last()
	key := verdictKey{ra, f.PC, step.Trust > unwind.TrustFramePointer}
	v := &w.asm.verdicts
	v.mu.Lock()
	known, ok := v.known[key]
	v.mu.Unlock()
	if ok {
		return known
	}
	known = w.judgeCall(step, ra, key.tables)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.known == nil || len(v.known) >= maxVerdicts {
		v.known = make(map[verdictKey]verdict)
	}
	v.known[key] = known
	return known
}

// maxVerdicts bounds what is kept.
const maxVerdicts = 1 << 16

// injectsReturn are Go functions that a signal handler has made look called by
// whatever instruction came next (runtime, pushCall).
var injectsReturn = map[string]bool{"runtime.asyncPreempt": true, "runtime.debugCallV2": true}

// isGoexit says that a return address is the one that newproc puts below a
// goroutine's first function: one instruction into goexit.
func isGoexit(fn Function, ra uint64) bool { return fn.Go && fn.Outermost && ra-fn.Start <= 4 }

// calledByDebugger says that a return address is where a debugger has called a
// function, for an expression: right behind the breakpoint instruction in one of
// the runtime's debugCall functions, where it sets the registers as if the
// instruction were a call. Test: integration/dap TestInjectedCall.
func (w *walker) calledByDebugger(fn Function, ra uint64) bool {
	size, ok := strings.CutPrefix(fn.Name, "debugCall")
	if !ok || !fn.Go || strings.Trim(size, "0123456789") != "" {
		return false
	}
	code := w.target.Code.Bytes(ra-1, 1)
	return w.target.Arch != unwind.AMD64 || len(code) == 1 && code[0] == 0xcc
}

// nearGoroutineTop is how far below the top of a goroutine's stack the return
// address into goexit may be, in bytes (runtime.newproc1 keeps a few words above).
const nearGoroutineTop = 256

// badGoexit says what is wrong with a goroutine's end that is not at the top of
// its stack, "" if nothing.
func (w *walker) badGoexit(step *unwind.Step, ra uint64) string {
	sp, ok := step.Caller.SP(w.target.Arch)
	fn, known := w.function(unwind.Code(ra, unwind.KindReturn).Lookup(w.target.Arch))
	if !ok || !known || !isGoexit(fn, ra) {
		return ""
	}
	at := w.judge.segmentOf(sp)
	if at < 0 || w.judge.segments[at].Kind == unwind.SegmentThread || w.judge.segments[at].High-sp <= nearGoroutineTop {
		return ""
	}
	return fmt.Sprintf("%s with stack pointer %#x is not at the top of its stack", fn.Name, sp)
}

// judgeCall finds out. tables says that the step rests on tables.
func (w *walker) judgeCall(step *unwind.Step, ra uint64, tables bool) verdict {
	arch := w.target.Arch
	calls, coded := w.callsBefore(step)
	if !coded {
		if w.target.Executable != nil && arch == unwind.AMD64 && w.target.OS == "linux" && arch.InKernel(ra) {
			// The vsyscall page: the kernel does what it is called for by itself.
			return verdict{reason: fmt.Sprintf("nothing at return address %#x, in the kernel's part of memory, calls", ra)}
		}
		return verdict{}
	}
	f := w.last()
	callee, known := w.function(f.PC.Lookup(arch))
	switch {
	case known && callee.Go && injectsReturn[callee.Name], w.signalReturn(ra):
		return verdict{}
	case switchOf(callee) == leaves, switchOf(callee) == enters:
		return verdict{} // not by a word of the stack, and checked already
	}
	caller, callerKnown := w.function(unwind.Code(ra, unwind.KindReturn).Lookup(arch))
	if len(calls) == 0 {
		start, _ := w.function(unwind.LookupAddr(ra))
		if isGoexit(caller, ra) || strings.HasPrefix(start.Name, "__start_context") || w.calledByDebugger(caller, ra) {
			return verdict{}
		}
		return verdict{reason: fmt.Sprintf("no call ends at return address %#x", ra)}
	}
	if callee.Go != caller.Go && !callee.Asm && !caller.Asm {
		// What is not known may still be Go, of an image that cannot be read.
		reason := fmt.Sprintf("return address %#x: %s and %s cannot call each other: between Go and C is assembly",
			ra, orElse(caller.Name, "this code"), orElse(callee.Name, "the code that is left"))
		if known && callerKnown {
			return verdict{reason: reason}
		}
		return verdict{doubt: reason}
	}
	if known && callerKnown && caller.Go && !callsThrough(caller, callee) {
		return verdict{reason: fmt.Sprintf("return address %#x: %s does not call %s", ra, caller.Name, orElse(callee.Name, "the function that is left"))}
	}
	exact := known && callee.Exact
	indirect := false
	for _, c := range calls {
		if c.Direct && w.mayLead(c.Target, f.PC, callee, exact) {
			return verdict{}
		}
		// The runtime never calls what switches stacks through a pointer.
		indirect = indirect || !c.Direct && switchOf(callee) == notSwitch
	}
	if indirect {
		return verdict{unproven: true}
	}
	reason := fmt.Sprintf("the call before return address %#x does not lead to %#x", ra, f.PC.Raw())
	// Where the function is not known, it may be a landing pad of an exception, to
	// which neither call nor jump leads: then tables may be right.
	if !exact && tables {
		return verdict{doubt: reason}
	}
	return verdict{reason: reason}
}

// callbackCalls are the functions that cgocallback calls, through a register.
var callbackCalls = map[string]bool{"runtime.cgocallbackg": true, "runtime.needm": true, "runtime.needAndBindM": true, "runtime.dropm": true}

// callsThrough says that a function of Go's may call another through the register
// or pointer that it was given: those that switch stacks are given one kind each.
func callsThrough(caller, callee Function) bool {
	switch strings.TrimSuffix(caller.Name, ".abi0") {
	case "runtime.asmcgocall":
		return !callee.Go || callee.Asm // C's, or what stands for it
	case "runtime.cgocallback":
		return callbackCalls[callee.Name]
	case "runtime.systemstack", "runtime.mcall":
		return callee.Go
	}
	return true
}

// mayLead says that code entered at target can come to a frame's place, or to the
// entry of its function.
func (w *walker) mayLead(target uint64, place unwind.CodeAddr, callee Function, exact bool) bool {
	if exact && target >= callee.Start && target < callee.End || callee.Whole != 0 && target == callee.Whole {
		return true // a landing pad in a cold part is entered by neither call nor jump
	}
	if w.target.Executable != nil && !w.target.Executable.Contains(target) {
		return false // no call at all, but bytes that look like one
	}
	tracer := w.calls()
	was, _ := tracer.Source.Code(target, callsite.Longest)
	if len(was) < callsite.Longest || retpoline(w.target.Arch, was) || resolving(w.target.Arch, was, callee, exact) {
		return true
	}
	places := []unwind.CodeAddr{place}
	if exact {
		places = append(places, unwind.Code(callee.Start, unwind.KindInstruction))
	}
	for _, to := range places {
		if answer, err := tracer.Reaches(target, to); err != nil || answer != callsite.Never {
			return true
		}
	}
	// Code that was changed in memory (hooks) is not what the image's file says.
	var now [callsite.Longest]byte
	return w.target.Memory.ReadMemory(target, now[:]) == nil && !bytes.Equal(was, now[:])
}

// resolving says that code is a stub for a dynamically linked function, and the
// frame's function the one that binds such stubs, or unknown: it runs on for a
// while when the stub leads elsewhere already.
func resolving(arch unwind.Arch, code []byte, callee Function, exact bool) bool {
	if exact && !strings.HasPrefix(callee.Name, "_dl_runtime_") {
		return false
	}
	if arch == unwind.ARM64 {
		return true // a stub computes the pointer's address first
	}
	code = bytes.TrimPrefix(code, []byte{0xf3, 0x0f, 0x1e, 0xfa}) // endbr64
	return bytes.HasPrefix(code, []byte{0xff, 0x25}) || bytes.HasPrefix(code, []byte{0xf2, 0xff, 0x25})
}

// retpoline says that code is a stub that calls over a few bytes, to replace its
// return address with where it goes on (-mindirect-branch=thunk).
func retpoline(arch unwind.Arch, code []byte) bool {
	return arch == unwind.AMD64 && code[0] == 0xe8 && code[1] < 64 && code[2] == 0 && code[3] == 0 && code[4] == 0
}

// signalReturn says that handlers of signals return to ra.
func (w *walker) signalReturn(ra uint64) bool {
	if w.target.OS != "linux" {
		return false
	}
	code, _ := w.calls().Source.Code(ra, callsite.SignalReturnSize)
	return callsite.IsSignalReturn(w.target.Arch, code)
}

// calls gives the tracer of this walk.
func (w *walker) calls() *callsite.Tracer {
	if w.tracer == nil {
		w.tracer = &callsite.Tracer{Arch: w.target.Arch, Source: &codeSource{target: w.target}, Budget: traceBudget}
	}
	return w.tracer
}

// secondGuess lowers the trust of a step that comes after a better strategy's was
// refused at the same frame: then either that strategy's tables lie, or the stack
// is damaged here, and the step rests on the same damaged words.
//
// Situation: damaged memory. Example: Go's own tables find a word that is no
// return address, and a frame pointer, overwritten too, leads to another frame's
// record. What handles it: the frame shows the refusal and has no more trust than
// one that was scanned for. Test: TestSecondGuess.
func (w *walker) secondGuess(strategy string, step *unwind.Step) {
	if step.Trust <= unwind.TrustScan {
		return
	}
	for _, r := range w.last().Rejected {
		if w.asm.trustOf(r.Strategy) > w.asm.trustOf(strategy) {
			w.lower(step, "what "+r.Strategy+" gave was refused, so that the stack may be damaged here")
			return
		}
	}
}

// doubtLast lowers the trust of the last frames when what should come next was
// refused, and nothing but calls through registers or pointers leads to them.
//
// Situation: a return address that was overwritten with another one, whose call
// could have led here. Example: a stack that was copied over itself. What handles
// it: such a frame's own caller is found at the wrong place, and refused as a rule.
// Then either of the two places is damaged, and nobody can tell which. Test:
// TestDoubtfulBeforeARefusal.
func (w *walker) doubtLast() {
	if len(w.last().Rejected) == 0 {
		return
	}
	for i := len(w.stack.Frames) - 1; i > 0 && w.unproven > 0; i-- {
		f := &w.stack.Frames[i]
		if f.Trust > unwind.TrustScan {
			f.Trust = unwind.TrustScan
			f.Notes = append(f.Notes, "no call is known to have led from here, and what should be the next frame was refused: the stack may be damaged here already")
		}
		w.unproven--
	}
}

// lower takes a step's trust down to a scan's and notes why; "" is no reason.
func (w *walker) lower(step *unwind.Step, why string) {
	if why == "" || step.Trust <= unwind.TrustScan {
		return
	}
	step.Trust = unwind.TrustScan
	step.Note = orElse(step.Note, why)
}

// trustOf is the trust that a strategy's frames can have.
func (a *Assembler) trustOf(name string) unwind.Trust {
	for i := range a.Strategies {
		if d := &a.Strategies[i].Description; d.Name == name {
			return d.Trust
		}
	}
	if name == unwind.StrategyDelve {
		return unwind.TrustScan
	}
	return unwind.TrustCFI // the host's own rules
}
