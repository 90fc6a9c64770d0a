//go:build linux

package switches

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
)

// grows is the stack while grow's stack grows, below the runtime's functions.
func (s *stand) grows() []string {
	return join(slices.Repeat(list("main.grow"), int(s.word(s.symbols["main.depth"])+1)), list("main.growing"))
}

// R14: at every switch of the runtime's, in Go called by C too.
func TestSwitches(t *testing.T) { testSwitches(t, native(t), launch) }

// Without DWARF the layout of the runtime's structures comes from its code.
func TestStripped(t *testing.T) {
	testSwitches(t, native(t), launchStripped, append(slices.Clone(characteristic), "end", "signal-system")...)
}

// testSwitches runs the scenarios that are named, all if none is, on machines
// that start brings.
func testSwitches(t *testing.T, f flavour, start func(t testing.TB, exe, scenario string) *stand, only ...string) {
	exe := f.build(t)
	const scheduler = "scheduler's stack begins here"
	for name, run := range map[string]func(*stand){
		// The stack is the goroutine's that grows.
		"grow": func(s *stand) {
			s.until("main.armed")
			s.untilMain("runtime.copystack")
			s.is("goexit", join(list("runtime.copystack", "runtime.newstack", "runtime.morestack"), s.grows(), toMain)...)
			if s.alone {
				return
			}
			s.signal(s.at.id, syscall.SIGUSR1)
			s.until("runtime.sighandler")
			s.is("goexit", join(handler, list(runtimes, "runtime.newstack", "runtime.morestack"), s.grows(), toMain)...)
		},
		"grow-callback": func(s *stand) {
			s.until("main.armed")
			s.untilMain("runtime.copystack")
			s.is("goexit", join(list("runtime.copystack", "runtime.newstack", "runtime.morestack"), s.grows(), climbed(0), list("main.growCallback"), toMain)...)
		},
		// The frame pointers that C has saved point to where the stack was.
		"grown": func(s *stand) {
			s.stopsByItself()
			s.is("goexit", join(list(recorded), goToC, list("main._Cfunc_stop", "main.grownThenC"), climbed(0), list("main.grown"), toMain)...)
		},
		"nested": func(s *stand) {
			s.stopsByItself()
			s.is("goexit", join(list(recorded), goToC, list("main._Cfunc_stop", "main.stopInC"), climbed(6), list("main.nested"), toMain)...)
		},
		// As long as the goroutine is the thread's, the stack is its own; once the
		// scheduler has been called it is not.
		"park": func(s *stand) {
			s.until("main.armed")
			s.untilMain("runtime.park_m")
			s.is("goexit", join(list("runtime.park_m", "runtime.mcall", "runtime.gopark", "runtime.chanrecv", "runtime.chanrecv1", "main.parks"), toMain)...)
			if !s.alone {
				s.untilThread("runtime.schedule")
				s.is(scheduler, "runtime.schedule", "runtime.park_m", "runtime.mcall")
			}
		},
		"end": func(s *stand) {
			s.until("main.ending")
			s.until("runtime.goexit0")
			s.is("goexit", "runtime.goexit0", "runtime.mcall", "runtime.goexit1", "runtime.goexit")
			if !s.alone {
				s.untilThread("runtime.schedule")
				s.is(scheduler, "runtime.schedule", runtimes, "runtime.mcall")
			}
		},
		"thread": func(s *stand) {
			if s.alone {
				return
			}
			s.until("main.armed")
			s.until("runtime.mstart1")
			s.is("mstart", "runtime.mstart1", "runtime.mstart0", "runtime.mstart")
		},
		"system": func(s *stand) {
			s.stopsByItself()
			s.is("goexit", join(join(list(runtimes, "main.stopOnSystem"), system, list("main.onSystem")), toMain)...)
		},
		"system-system": func(s *stand) {
			s.stopsByItself()
			s.is("goexit", join(join(list(runtimes, "main.stopOnSystem", "runtime.systemstack", "main.onSystem", "main.systemAgain"), system, list("main.systemSystem")), toMain)...)
		},
		"system-callback": func(s *stand) {
			s.stopsByItself()
			s.is("goexit", join(join(list(runtimes, "main.stopOnSystem"), system, list("main.onSystem")), climbed(2), list("main.systemCallback"), toMain)...)
		},
		"cthread": func(s *stand) {
			// Before the thread has a g, while it gets one, and with it.
			for _, fn := range []string{"runtime.needAndBindM", "runtime.needm"} {
				s.until(fn)
				s.is("", join(list(runtimes, "runtime.cgocallback", "crosscall2", anyFrame, recorded, recorded), list(anyFrame, anyFrame+"?"))...)
			}
			s.until("runtime.cgocallbackg")
			s.is("", join(list(runtimes, "crosscall2", anyFrame, recorded, recorded), list(anyFrame, anyFrame+"?"))...)
			s.stopsByItself()
			s.is("", join(list(runtimes, "main.breakInGo", "main.rung"), cToGo, list(recorded, recorded, anyFrame, anyFrame+"?"))...)
		},
		"cthread-nested": func(s *stand) {
			s.stopsByItself()
			s.is("", join(list(recorded), goToC, list("main._Cfunc_stop", "main.stopInC"), climbed(2),
				list("main.rung"), cToGo, list(recorded, recorded, anyFrame, anyFrame+"?"))...)
		},
		// Go's own handler, in C, in C below Go below C, and on the system stack.
		"signal": func(s *stand) {
			s.until("main.armed")
			for _, fn := range []string{"runtime.sigtrampgo", "runtime.sighandler"} {
				s.until(fn)
				s.is("goexit", join(handler, list("syscall?", recorded), goToC, list("main._Cfunc_raise_signal", "main.inC"), toMain)...)
			}
		},
		"signal-callback": func(s *stand) {
			s.until("main.armed")
			s.until("runtime.sighandler")
			s.is("goexit", join(handler, list("syscall?", recorded), goToC, list("main._Cfunc_raise_signal", "main.inC"), climbed(2), list("main.signalCallback"), toMain)...)
		},
		"signal-system": func(s *stand) {
			s.until("main.armed")
			s.until("runtime.sighandler")
			s.is("goexit", join(handler, list(anyFrame, "syscall.RawSyscall6", "syscall.RawSyscall", "main.raises"), system, list("main.signalSystem"), toMain)...)
		},
		// time.now keeps its SP in a register while it calls the vDSO.
		"clock": func(s *stand) {
			if s.alone {
				return
			}
			s.until("main.armed")
			for range 2 { // the wall clock and the monotonic one
				s.untilMain(fmt.Sprintf("*%#x", s.word(s.symbols["runtime.vdsoClockgettimeSym"])))
				s.is("goexit", join(list(anyFrame, "time.now", "time.runtimeNow?", "time.Now", "main.clock"), toMain)...)
			}
		},
		// The handler makes asyncPreempt look called by any instruction.
		"spin": func(s *stand) {
			s.until("main.armed")
			s.untilMain("runtime.asyncPreempt2")
			s.is("goexit", join(list("runtime.asyncPreempt2", "runtime.asyncPreempt", "main.armed?", "main.spins"), toMain)...)
			if s.alone {
				return
			}
			s.untilMain("runtime.gopreempt_m", "runtime.preemptPark")
			s.is("goexit", join(list("runtime.*", "runtime.asyncPreempt2.func1?", "runtime.mcall", "runtime.asyncPreempt2", "runtime.asyncPreempt", "main.spins"), toMain)...)
		},
	} {
		if len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if name != "spin" { // no signals but those that the scenario sends
				t.Setenv("GODEBUG", "asyncpreemptoff=1")
			}
			insist(t, func() { run(start(t, exe, name)) })
		})
	}
}

// system is systemstack, with the wrapper for Go's own calling convention.
var system = list("runtime.systemstack", "runtime.systemstack")

// handler is Go's, from what stopped in it to the trampoline to the kernel.
var handler = list(runtimes, "runtime.sigtramp", anyFrame)
