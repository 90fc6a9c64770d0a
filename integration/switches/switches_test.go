package switches

import (
	"slices"
	"testing"

	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/unwind"
)

// grows is the stack while grow's stack grows, below the runtime's functions.
func (s *stand) grows() []string {
	return join(slices.Repeat(list("main.grow"), int(s.word(s.symbols["main.depth"])+1)), list("main.growing"))
}

// R14: at every switch of the runtime's, in Go called by C too.
func TestSwitches(t *testing.T) { testSwitches(t, native(t)) }

// testSwitches runs the scenarios that are named, all if none is.
func testSwitches(t *testing.T, f flavour, only ...string) {
	exe := f.build(t)
	const scheduler = "scheduler's stack begins here"
	for name, run := range map[string]func(*stand){
		// The stack is the goroutine's that grows.
		"grow": func(s *stand) {
			s.until("main.armed")
			s.untilMain("runtime.copystack")
			stack, _ := s.stack()
			s.check(&stack, "goexit", join(list("runtime.copystack", "runtime.newstack", "runtime.morestack"), s.grows(), toMain)...)
		},
		"grow-callback": func(s *stand) {
			s.until("main.armed")
			s.untilMain("runtime.copystack")
			stack, _ := s.stack()
			s.check(&stack, "goexit", join(list("runtime.copystack", "runtime.newstack", "runtime.morestack"), s.grows(), climbed(0), list("main.growCallback"), toMain)...)
		},
		// The frame pointers that C has saved point to where the stack was.
		"grown": func(s *stand) {
			s.stopsByItself()
			stack, _ := s.stack()
			s.check(&stack, "goexit", join(list(recorded), goToC, list("main._Cfunc_stop", "main.grownThenC"), climbed(0), list("main.grown"), toMain)...)
		},
		"nested": func(s *stand) {
			s.stopsByItself()
			stack, _ := s.stack()
			s.check(&stack, "goexit", join(list(recorded), goToC, list("main._Cfunc_stop", "main.stopInC"), climbed(6), list("main.nested"), toMain)...)
		},
		// As long as the goroutine is the thread's, the stack is its own; once the
		// scheduler has been called it is not.
		"park": func(s *stand) {
			s.until("main.armed")
			s.untilMain("runtime.park_m")
			stack, th := s.stack()
			s.check(&stack, "goexit", join(list("runtime.park_m", "runtime.mcall", "runtime.gopark", "runtime.chanrecv", "runtime.chanrecv1", "main.parks"), toMain)...)
			s.untilThread(th.ID, "runtime.schedule")
			stack, _ = s.stack()
			s.check(&stack, scheduler, "runtime.schedule", "runtime.park_m", "runtime.mcall")
		},
		"end": func(s *stand) {
			s.until("main.ending")
			s.until("runtime.goexit0")
			stack, th := s.stack()
			s.check(&stack, "goexit", "runtime.goexit0", "runtime.mcall", "runtime.goexit1", "runtime.goexit")
			s.untilThread(th.ID, "runtime.schedule")
			stack, _ = s.stack()
			s.check(&stack, scheduler, "runtime.schedule", runtimes, "runtime.mcall")
		},
		"thread": func(s *stand) {
			s.until("main.armed")
			s.until("runtime.mstart1")
			stack, _ := s.stack()
			s.check(&stack, "mstart", "runtime.mstart1", "runtime.mstart0", "runtime.mstart")
		},
		"system": func(s *stand) {
			s.stopsByItself()
			stack, _ := s.stack()
			s.check(&stack, "goexit", join(join(list("main.stopOnSystem"), system, list("main.onSystem")), toMain)...)
		},
		"system-system": func(s *stand) {
			s.stopsByItself()
			stack, _ := s.stack()
			s.check(&stack, "goexit", join(join(list("main.stopOnSystem", "runtime.systemstack", "main.onSystem", "main.systemAgain"), system, list("main.systemSystem")), toMain)...)
		},
		"system-callback": func(s *stand) {
			s.stopsByItself()
			stack, _ := s.stack()
			s.check(&stack, "goexit", join(join(list("main.stopOnSystem"), system, list("main.onSystem")), climbed(2), list("main.systemCallback"), toMain)...)
		},
		"cthread": func(s *stand) {
			// Before the thread has a g, while it gets one, and with it.
			for _, fn := range []string{"runtime.needAndBindM", "runtime.needm"} {
				s.until(fn)
				stack, _ := s.stack()
				s.check(&stack, "", join(list(runtimes, "runtime.cgocallback", "crosscall2", anyFrame, recorded, recorded), list(anyFrame, anyFrame+"?"))...)
			}
			s.until("runtime.cgocallbackg")
			stack, _ := s.stack()
			s.check(&stack, "", join(list(runtimes, "crosscall2", anyFrame, recorded, recorded), list(anyFrame, anyFrame+"?"))...)
			s.stopsByItself()
			stack, _ = s.stack()
			s.check(&stack, "", join(list("main.breakInGo", "main.rung"), cToGo, list(recorded, recorded, anyFrame, anyFrame+"?"))...)
		},
		"cthread-nested": func(s *stand) {
			s.stopsByItself()
			stack, _ := s.stack()
			s.check(&stack, "", join(list(recorded), goToC, list("main._Cfunc_stop", "main.stopInC"), climbed(2),
				list("main.rung"), cToGo, list(recorded, recorded, anyFrame, anyFrame+"?"))...)
		},
		// Go's own handler, in C, in C below Go below C, and on the system stack.
		"signal": func(s *stand) {
			s.until("main.armed")
			for _, fn := range []string{"runtime.sigtrampgo", "runtime.sighandler"} {
				s.until(fn)
				stack, _ := s.stack()
				s.check(&stack, "goexit", join(handler, list(recorded), goToC, list("main._Cfunc_raise_signal", "main.inC"), toMain)...)
			}
		},
		"signal-callback": func(s *stand) {
			s.until("main.armed")
			s.until("runtime.sighandler")
			stack, _ := s.stack()
			s.check(&stack, "goexit", join(handler, list(recorded), goToC, list("main._Cfunc_raise_signal", "main.inC"), climbed(2), list("main.signalCallback"), toMain)...)
		},
		"signal-system": func(s *stand) {
			s.until("main.armed")
			s.until("runtime.sighandler")
			stack, _ := s.stack()
			s.check(&stack, "goexit", join(handler, list(anyFrame, "syscall.RawSyscall6", "syscall.RawSyscall", "main.raises"), system, list("main.signalSystem"), toMain)...)
		},
		// The handler makes asyncPreempt look called by any instruction.
		"spin": func(s *stand) {
			s.until("main.armed")
			s.untilMain("runtime.asyncPreempt2")
			stack, _ := s.stack()
			s.check(&stack, "goexit", join(list("runtime.asyncPreempt2", "runtime.asyncPreempt", "main.spins"), toMain)...)
			s.untilMain("runtime.gopreempt_m", "runtime.preemptPark")
			stack, _ = s.stack()
			s.check(&stack, "goexit", join(list("runtime.*", "runtime.asyncPreempt2.func1?", "runtime.mcall", "runtime.asyncPreempt2", "runtime.asyncPreempt", "main.spins"), toMain)...)
		},
	} {
		if len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if name != "spin" { // no signals but those that the scenario sends
				t.Setenv("GODEBUG", "asyncpreemptoff=1")
			}
			run(launch(t, exe, name))
		})
	}
}

// system is systemstack, with the wrapper for Go's own calling convention.
var system = list("runtime.systemstack", "runtime.systemstack")

// handler is Go's, from what stopped in it to the trampoline to the kernel.
var handler = list(runtimes, "runtime.sigtramp", anyFrame)

func (s *stand) stopsByItself() {
	s.Helper()
	if stop := s.run(); stop.Reason != delve.StopHardcoded {
		s.Fatalf("stopped with %s", stop.Reason)
	}
}

// untilMain runs to one of functions that any goroutine may call, until the main
// goroutine does.
func (s *stand) untilMain(fns ...string) {
	s.Helper()
	s.untilIs(func(th delve.Thread) bool { return th.Goroutine == 1 }, fns...)
}

// untilThread does so until one thread does.
func (s *stand) untilThread(id uint64, fn string) {
	s.Helper()
	s.untilIs(func(th delve.Thread) bool { return th.ID == id }, fn)
}

func (s *stand) untilIs(right func(delve.Thread) bool, fns ...string) {
	s.Helper()
	var addrs []uint64
	for _, fn := range fns {
		addrs = append(addrs, s.locate(fn)...)
	}
	defer s.clear(s.breakAt(addrs...))
	for range 100 {
		if stop := s.run(); stop.Reason != delve.StopBreakpoint {
			s.Fatalf("stopped with %s, not at %s", stop.Reason, fns)
		}
		// Several threads may have come to a breakpoint at once: Delve tells of one.
		s.look()
		for _, th := range s.threads() {
			if pc, _ := th.Registers.PC(unwind.AMD64); slices.Contains(addrs, pc) && right(th) {
				s.chosen = th.ID
				return
			}
		}
	}
	s.Fatalf("the right thread does not come to %s", fns)
}
