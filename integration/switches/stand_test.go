//go:build linux

package switches

import (
	"debug/elf"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// reason says why a program stands.
type reason string

const (
	atBreakpoint reason = "a breakpoint"
	byItself     reason = "its own breakpoint instruction"
	exited       reason = "its end"
)

// halted is a thread of a program that stands.
type halted struct {
	id, goroutine, pc uint64
}

// machine runs the program and knows how to look at it.
type machine interface {
	arch() unwind.Arch
	locate(fn string) []uint64
	// breakAt sets breakpoints, which clear removes.
	breakAt(addrs ...uint64) (clear func())
	// run lets the program go on to its next stop.
	run() reason
	// threads lists those that may have stopped the program, the one that has
	// first.
	threads() []halted
	stack(thread uint64) unwind.Stack
	executable() unwind.RangeSet
	// signal sends one to a thread, which takes it when it goes on.
	signal(thread uint64, number syscall.Signal)
	word(addr uint64) uint64
}

// stand is the program on a machine, in one scenario.
type stand struct {
	testing.TB
	machine
	symbols map[string]uint64
	at      halted // the thread to look at
	// alone: the machine is confused by two threads that stop at once.
	alone bool
}

func newStand(t testing.TB, m machine, exe string) *stand {
	return &stand{TB: t, machine: m, symbols: symbolsOf(t, exe)}
}

// symbolsOf lists a program's symbols; those of assembly functions without their
// calling convention's suffix, unless Go has one by that name.
func symbolsOf(t testing.TB, exe string) map[string]uint64 {
	t.Helper()
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]uint64, len(list))
	for _, s := range list {
		out[s.Name] = s.Value
	}
	for _, s := range list {
		if name, cut := strings.CutSuffix(s.Name, ".abi0"); cut && out[name] == 0 {
			out[name] = s.Value
		}
	}
	return out
}

// goOn lets the program go on to its next stop.
func (s *stand) goOn() reason {
	s.Helper()
	why := s.run()
	if why != exited {
		s.at = s.threads()[0]
	}
	return why
}

// until runs to a breakpoint at a function that only the scenario calls.
func (s *stand) until(fn string) {
	s.Helper()
	s.untilIs(func(halted) bool { return true }, fn)
}

// untilMain runs to one of functions that any goroutine may call, until the main
// goroutine does.
func (s *stand) untilMain(fns ...string) {
	s.Helper()
	s.untilIs(func(th halted) bool { return th.goroutine == 1 }, fns...)
}

// untilThread does so until the thread that stands does.
func (s *stand) untilThread(fn string) {
	s.Helper()
	id := s.at.id
	s.untilIs(func(th halted) bool { return th.id == id }, fn)
}

func (s *stand) untilIs(right func(halted) bool, fns ...string) {
	s.Helper()
	var addrs []uint64
	for _, fn := range fns {
		addrs = append(addrs, s.locate(fn)...)
	}
	if len(addrs) == 0 {
		s.Fatalf("there is no function %s", fns)
	}
	defer s.breakAt(addrs...)()
	for range 100 {
		if why := s.goOn(); why != atBreakpoint {
			s.Fatalf("stopped by %s, not at %s", why, fns)
		}
		// Several threads may have come to a breakpoint at once.
		for _, th := range s.threads() {
			if slices.Contains(addrs, th.pc) && right(th) {
				s.at = th
				return
			}
		}
	}
	s.Fatalf("the right thread does not come to %s", fns)
}

func (s *stand) stopsByItself() {
	s.Helper()
	if why := s.goOn(); why != byItself {
		s.Fatalf("stopped by %s", why)
	}
}

// is checks the stack of the thread that stands; see [stand.compare].
func (s *stand) is(reason string, want ...string) {
	s.Helper()
	stack := s.stack(s.at.id)
	if problem := s.compare(&stack, reason, want); problem != "" {
		s.Errorf("%s\nwant %q\n%s", problem, want, show(&stack))
	}
}
