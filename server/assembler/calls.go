package assembler

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"sync"

	"github.com/clewdbg/clew/internal/unwind/callsite"
	"github.com/clewdbg/clew/unwind"
)

// callFinding is the code's evidence about a return address: a call must end there,
// and must lead to the function that is left. refusal tells why that is impossible,
// doubt why it is uncertain; both may be "". unproven: a call ends there that may or
// may not have led here, since it goes through a register or pointer (README.md,
// "Return addresses").
type callFinding struct {
	refusal, doubt string
	unproven       bool
	context        bool // no call: a context's stack begins there
}

// callFindings caches them for all stacks of one stop, since many stacks share
// frames.
type callFindings struct {
	mu    sync.Mutex
	known map[callKey]*callFinding
}

type callKey struct {
	ra     uint64
	callee unwind.CodeAddr
	tables bool // the step rests on tables
}

// maxFindings bounds the cache.
const maxFindings = 1 << 16

// of returns the finding for a step.
func (c *callFindings) of(code *program, ev *evidence) *callFinding {
	key := callKey{ev.pc, ev.frame.PC, ev.step.Trust > unwind.TrustFramePointer}
	c.mu.Lock()
	finding, ok := c.known[key]
	c.mu.Unlock()
	if ok {
		return finding
	}
	site := callSite{program: code, ra: ev.pc, frame: ev.frame, callee: ev.callee, caller: ev.caller, tables: key.tables}
	site.calls, site.readable = code.callsBefore(ev.pc)
	judged := site.judge()
	finding = &judged
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxFindings {
		c.known = make(map[callKey]*callFinding)
	}
	c.known[key] = finding
	return finding
}

// callSite is the code before a return address, and that of the frame that is left.
type callSite struct {
	*program
	ra             uint64
	frame          *unwind.Frame
	callee, caller *place
	calls          []callsite.Call
	readable       bool // the code before ra is known
	tables         bool
}

func (s *callSite) judge() callFinding {
	switch {
	case !s.readable:
		return s.vsyscall()
	case s.uncalled():
		return callFinding{}
	case len(s.calls) == 0:
		return s.noCall()
	case s.callee.Go != s.caller.Go && !s.callee.Asm && !s.caller.Asm:
		return s.betweenGoAndC()
	case s.caller.Go && callsOwnC[s.caller.Name] && s.elsewhere():
		return callFinding{refusal: fmt.Sprintf("return address %#x: %s calls C of its own image only", s.ra, s.caller.Name)}
	case s.bothKnown() && s.caller.Go && !callsThrough(&s.caller.Function, &s.callee.Function):
		return callFinding{refusal: fmt.Sprintf("return address %#x: %s does not call %s", s.ra, s.caller.Name, cmp.Or(s.callee.Name, "the function that is left"))}
	}
	return s.leads()
}

func (s *callSite) bothKnown() bool { return s.callee.known && s.caller.known }

// vsyscall refuses the page that the kernel emulates.
func (s *callSite) vsyscall() callFinding {
	if t := s.target; t.Executable != nil && t.Arch == unwind.AMD64 && t.OS == "linux" && t.Arch.InKernel(s.ra) {
		return callFinding{refusal: fmt.Sprintf("nothing at return address %#x, in the kernel's part of memory, calls", s.ra)}
	}
	return callFinding{}
}

// injectsReturn are Go functions that a signal handler has made look called by
// whatever instruction came next (runtime, pushCall).
var injectsReturn = map[string]bool{"runtime.asyncPreempt": true, "runtime.debugCallV2": true}

// uncalled reports whether no call leads here: to a signal's trampoline; to the
// code that a handler of Go's has made look as if it had called. A function that
// sets SP to another stack was not found by a word of the stack, and is checked
// already.
func (s *callSite) uncalled() bool {
	way := s.callee.switchKind()
	return s.callee.known && s.callee.Go && injectsReturn[s.callee.Name] || s.signalReturn(s.ra) || way == leaves || way == enters
}

// noCall refuses a return address that no call ends at, but for goexit, which
// newproc puts below a goroutine's first function; __start_context, which
// makecontext puts below a context's; and where a debugger has called.
func (s *callSite) noCall() callFinding {
	switch {
	case s.startsContext(s.ra):
		return callFinding{context: true}
	case s.caller.isGoexit(s.ra), s.calledByDebugger():
		return callFinding{}
	}
	return callFinding{refusal: fmt.Sprintf("no call ends at return address %#x", s.ra)}
}

// isGoexit reports whether a return address is the one that newproc puts below
// a goroutine's first function: one instruction into goexit.
func (fn *Function) isGoexit(ra uint64) bool { return fn.Go && fn.Outermost && ra-fn.Start <= 4 }

// calledByDebugger reports whether a return address is where a debugger has
// called a function, for an expression: right behind the breakpoint instruction
// in one of the runtime's debugCall functions, where it sets the registers as if
// the instruction were a call. Test: integration/scenarios, plain-forms.
func (s *callSite) calledByDebugger() bool {
	size, ok := strings.CutPrefix(s.caller.Name, "debugCall")
	if !ok || !s.caller.Go || strings.Trim(size, "0123456789") != "" {
		return false
	}
	code := s.target.Code.Bytes(s.ra-1, 1)
	return s.target.Arch != unwind.AMD64 || len(code) == 1 && code[0] == 0xcc
}

// betweenGoAndC refuses a call between the two where neither is assembly. An
// unknown function may still be Go's, in an image that cannot be read.
func (s *callSite) betweenGoAndC() callFinding {
	reason := fmt.Sprintf("return address %#x: %s and %s cannot call each other: between Go and C is assembly",
		s.ra, cmp.Or(s.caller.Name, "this code"), cmp.Or(s.callee.Name, "the code that is left"))
	if s.bothKnown() {
		return callFinding{refusal: reason}
	}
	return callFinding{doubt: reason}
}

// callbackCalls are the functions that cgocallback calls, through a register.
var callbackCalls = map[string]bool{"runtime.cgocallbackg": true, "runtime.needm": true, "runtime.needAndBindM": true, "runtime.dropm": true}

// callsOwnC are functions that call one function of runtime/cgo each, through a pointer.
var callsOwnC = map[string]bool{"runtime.callCgoMmap": true, "runtime.callCgoMunmap": true, "runtime.callCgoSigaction": true}

// elsewhere reports whether the caller lies in another image than the frame that is left.
func (s *callSite) elsewhere() bool {
	own, _ := s.target.Code.Model(unwind.ReturnAddr(s.ra).Lookup(s.target.Arch))
	other, _ := s.target.Code.Model(s.frame.PC.Lookup(s.target.Arch))
	return own != nil && other != nil && own != other
}

// callsThrough reports whether a Go function may call another through the
// register or pointer that was passed to it: those that switch stacks are given
// one kind each.
func callsThrough(caller, callee *Function) bool {
	switch strings.TrimSuffix(caller.Name, ".abi0") {
	case "runtime.asmcgocall":
		return !callee.Go || callee.Asm // C's, or a stub for it
	case "runtime.cgocallback":
		return callbackCalls[callee.Name]
	case "runtime.systemstack", "runtime.mcall":
		return callee.Go
	}
	return true
}

// leads decides whether the calls can lead to the frame.
func (s *callSite) leads() callFinding {
	// The runtime never calls functions that switch stacks through a pointer.
	pointers := s.callee.switchKind() == notSwitch
	indirect := false
	for _, c := range s.calls {
		if c.Direct && s.mayLead(c.Target) {
			return callFinding{}
		}
		indirect = indirect || !c.Direct && pointers
	}
	if indirect {
		return callFinding{unproven: true}
	}
	reason := fmt.Sprintf("the call before return address %#x does not lead to %#x", s.ra, s.frame.PC.Raw())
	// Where the function is not known, it may be a landing pad of an exception, to
	// which neither call nor jump leads: then tables may be right.
	if !s.exact() && s.tables {
		return callFinding{doubt: reason}
	}
	return callFinding{refusal: reason}
}

// exact reports whether the start of the function that is left is known.
func (s *callSite) exact() bool { return s.callee.known && s.callee.Exact }

// mayLead reports whether code entered at target can reach the frame's place,
// or to the entry of its function.
func (s *callSite) mayLead(target uint64) bool {
	callee, t := s.callee, s.target
	inside := s.exact() && target >= callee.Start && target < callee.End
	// A landing pad in a cold part is entered by neither call nor jump.
	if inside || callee.Whole != 0 && target == callee.Whole {
		return true
	}
	if t.Executable != nil && !t.Executable.Contains(target) {
		return false // no call at all, but bytes that look like one
	}
	return (s.isStub(target) || s.mayReach(target)) && (s.tables || !s.stays(target)) || s.changed(target)
}

// isStub reports whether code goes on in a way that the code alone does not
// show, or cannot be read.
func (s *callSite) isStub(target uint64) bool {
	was := s.code(target, callsite.Longest)
	arch := s.target.Arch
	return len(was) < callsite.Longest || retpoline(arch, was) || resolving(arch, was, s.callee.Name, s.exact())
}

func (s *callSite) mayReach(target uint64) bool {
	answer, err := s.tracer.Reaches(target, s.frame.PC)
	if err == nil && answer == callsite.Never && s.exact() {
		answer, err = s.tracer.Reaches(target, unwind.Code(s.callee.Start, unwind.KindInstruction))
	}
	return err != nil || answer != callsite.Never
}

// stays reports whether the model of the target's image proves that the code does not lead
// to the frame's place, as a direct call within the dynamic linker does not lead out of it.
func (s *callSite) stays(target uint64) bool {
	model, bias := s.target.Code.Model(unwind.InstructionAddr(target).Lookup(s.target.Arch))
	return model != nil && model.Stays(target-bias, s.frame.PC.Raw()-bias)
}

// changed reports whether code in memory differs from the image's file (hooks).
func (s *callSite) changed(target uint64) bool {
	var now [callsite.Longest]byte
	return s.target.Memory.ReadMemory(target, now[:]) == nil && !bytes.Equal(s.code(target, callsite.Longest), now[:])
}

// linkerBinds begins the names of the dynamic linker's functions that bind what is called.
const linkerBinds = "_dl_runtime_"

// resolving reports whether code is a stub for a dynamically linked function,
// and the frame's function the one that binds such stubs, or unknown: it runs
// on for a while when the stub leads elsewhere already.
func resolving(arch unwind.Arch, code []byte, callee string, exact bool) bool {
	if exact && !strings.HasPrefix(callee, linkerBinds) {
		return false
	}
	if arch == unwind.ARM64 {
		return true // a stub computes the pointer's address first
	}
	code = bytes.TrimPrefix(code, []byte{0xf3, 0x0f, 0x1e, 0xfa}) // endbr64
	return bytes.HasPrefix(code, []byte{0xff, 0x25}) || bytes.HasPrefix(code, []byte{0xf2, 0xff, 0x25})
}

// retpoline reports whether code is a stub that calls over a few bytes, to
// replace its return address with its real target (-mindirect-branch=thunk).
func retpoline(arch unwind.Arch, code []byte) bool {
	return arch == unwind.AMD64 && code[0] == 0xe8 && code[1] < 64 && code[2] == 0 && code[3] == 0 && code[4] == 0
}
