package steptest

import (
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/singlestep"
)

// Activation is the state when a function was entered, or when a signal came.
type Activation struct {
	CFA, RA uint64
	Saved   singlestep.Registers // all, as they were then
	Signal  bool
}

// mark is where the program returned to, and how many activations there were then.
type mark struct {
	sp    uint64
	depth int
}

// Shadow single-steps a program, and keeps the stack of its calls as its call and return instructions make it: the
// truth that steps are compared with. Every test that steps a whole program outside a debugger does so with it.
type Shadow struct {
	T       testing.TB
	Machine Machine
	Program singlestep.Program
	// Status is the program's exit status.
	Status int
	// From and Until bound what is seen: the stack begins where the program first comes to From, and all ends before the
	// instruction at Until. 0: with the first call, and with the program.
	From, Until uint64
	// Entry, if set, says where functions begin: a call to the next instruction is none elsewhere.
	Entry func(pc uint64) bool
	// Visit is called before every instruction within a function.
	Visit func(pc uint64, regs *singlestep.Registers)
	// Entered and Left, if set, are called when a function was entered, and has returned.
	Entered func(a *Activation)
	Left    func(a *Activation, regs *singlestep.Registers)

	// Stack has the activations, outermost first.
	Stack []Activation

	marks map[uint64]mark // by the address
	last  Kind
	begun bool
}

// Run steps through the program to its end.
func (s *Shadow) Run() {
	s.T.Helper()
	s.begun = s.From == 0
	deadline := time.Now().Add(5 * time.Minute)
	for result := (singlestep.Result{}); ; {
		if time.Now().After(deadline) {
			s.T.Fatal("the program does not end")
		}
		if s.look(result.Signal) {
			return
		}
		var err error
		if result, err = s.Program.Step(); err != nil {
			s.T.Fatal(err)
		}
		if result.Ended {
			if result.Status != s.Status || s.Until != 0 {
				s.T.Fatalf("the program failed: status %d", result.Status)
			}
			return
		}
	}
}

// Word reads a word of the program's memory.
func (s *Shadow) Word(addr uint64) uint64 {
	var b [8]byte
	if s.Program.Read(addr, b[:]) != 8 {
		s.T.Fatalf("no memory at %#x", addr)
	}
	return s.Machine.Order.Uint64(b[:])
}

// look examines the state before the next instruction, or before a signal is
// delivered, and reports whether all has been seen.
func (s *Shadow) look(signal bool) (over bool) {
	regs, err := s.Program.Registers()
	if err != nil {
		s.T.Fatal(err)
	}
	m := &s.Machine
	pc, sp := regs[m.Arch.PC()], regs[m.Arch.SP()]
	if !s.begun {
		if pc != s.From {
			return false
		}
		s.begun, s.last = true, Call
	}
	n := len(s.Stack)
	switch {
	case s.last == Call:
		s.enter(pc, &regs)
	case n > 0 && (s.last == Return || s.last == MaybeReturn && pc == s.Stack[n-1].RA):
		if s.Stack[n-1].CFA != sp+m.Above || s.From != 0 && s.Stack[n-1].RA != pc {
			s.T.Fatalf("shadow stack lost at %#x: SP %#x, not %#x", pc, sp, s.Stack[n-1].CFA-m.Above)
		}
		if s.Left != nil {
			s.Left(&s.Stack[n-1], &regs)
		}
		s.returned(pc, sp, n-1)
	case s.landed(pc, sp):
		s.Stack = s.Stack[:s.marks[pc].depth] // longjmp
	case n > 0 && s.Stack[n-1].Signal && pc == s.Stack[n-1].RA && sp == s.Stack[n-1].CFA:
		s.Stack = s.Stack[:n-1] // back from the handler
	default: // out of functions at once: longjmp
		for ; n > 0 && !s.Stack[n-1].Signal && sp+m.Above+m.Pushed > s.Stack[n-1].CFA; n-- {
			s.Stack = s.Stack[:n-1]
		}
	}
	if signal {
		// The handler is entered as if the trampoline had called it.
		s.Stack = append(s.Stack, Activation{CFA: sp, RA: pc, Saved: regs, Signal: true})
		s.last = Call
		return false
	}
	var b [16]byte
	s.last = m.Kind(b[:s.Program.Read(pc, b[:])])
	if len(s.Stack) > 0 {
		s.Visit(pc, &regs)
	}
	return s.Until != 0 && pc == s.Until
}

// enter notes the function whose first instruction comes next.
func (s *Shadow) enter(pc uint64, regs *singlestep.Registers) {
	cfa, ra := s.Machine.Entered(s.Word, regs)
	if s.Entry != nil && ra == pc && !s.Entry(pc) {
		return
	}
	s.Stack = append(s.Stack, Activation{CFA: cfa, RA: ra, Saved: *regs})
	if s.Entered != nil {
		s.Entered(&s.Stack[len(s.Stack)-1])
	}
}

// returned records that the activation at a depth has returned.
func (s *Shadow) returned(pc, sp uint64, depth int) {
	if s.marks == nil {
		s.marks = map[uint64]mark{}
	}
	s.marks[pc] = mark{sp, depth}
	s.Stack = s.Stack[:depth]
}

// landed says that a longjmp came here: to where setjmp returned before, with more
// activations and the same stack pointer. Where calls push the return address the
// stack pointer alone tells.
func (s *Shadow) landed(pc, sp uint64) bool {
	m, ok := s.marks[pc]
	return ok && s.Machine.Pushed == 0 && m.sp == sp && m.depth < len(s.Stack)
}
