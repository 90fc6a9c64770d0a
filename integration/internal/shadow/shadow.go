package shadow

import "golang.org/x/arch/x86/x86asm"

// Kind is the effect of an instruction on the stack of calls.
type Kind uint8

// The kinds of instructions.
const (
	Other Kind = iota
	Call
	Return
	Syscall
	// Exclusive begins a sequence that does not end well while it is single-stepped: its store fails.
	Exclusive
)

// KindOf classifies the instruction that code begins with. Those that the decoder does
// not know (endbr64, vector instructions) neither call nor return.
func KindOf(code []byte) Kind {
	x, err := x86asm.Decode(code, 64)
	if err != nil {
		return Other
	}
	switch x.Op {
	case x86asm.CALL:
		return Call
	case x86asm.RET:
		return Return
	case x86asm.SYSCALL:
		return Syscall
	}
	return Other
}

// Activation is the state when a function was entered.
type Activation struct{ CFA, RA uint64 }

// Stack is the stack of calls, outermost first.
type Stack []Activation

// Push notes the function whose first instruction comes next: sp is where its return address
// lies.
func (s *Stack) Push(sp, ra uint64) { *s = append(*s, Activation{CFA: sp + 8, RA: ra}) }

// Settle takes functions off that are over, as the stack pointer is above their frames,
// whether they have returned or were left by longjmp. same says whether two stack pointers are
// on one stack.
func (s *Stack) Settle(sp uint64, same func(a, b uint64) bool) {
	for n := len(*s); n > 0 && sp >= (*s)[n-1].CFA && same(sp, (*s)[n-1].CFA); n-- {
		*s = (*s)[:n-1]
	}
}

// Back takes off the function that goes on at a return address, as Go's scheduler does with
// one that it had left, and drops everything that function had called. ok is false if no frame matches.
func (s *Stack) Back(sp, pc uint64) (ok bool) {
	for n := len(*s) - 1; n >= 0; n-- {
		if (*s)[n] == (Activation{CFA: sp, RA: pc}) {
			*s = (*s)[:n]
			return true
		}
	}
	return false
}
