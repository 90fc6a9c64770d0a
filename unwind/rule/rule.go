package rule

import (
	"slices"

	"github.com/clewdbg/clew/unwind"
)

// From is the base of a value.
type From uint8

// The bases of values.
const (
	// Lost is the zero value: nothing says where the value is.
	Lost From = iota
	// Undefined: the value does not exist; an undefined return address ends the
	// stack (DWARF 5, 6.4.4).
	Undefined
	// Same: the value is still in its register; for the return address that is the
	// link register.
	Same
	// CFA is the CFA plus Offset.
	CFA
	// Register is the value that Register has in the frame, plus Offset.
	Register
	// Expression is the value of a DWARF expression.
	Expression
)

// Condition says when a value holds.
type Condition uint8

// When values hold.
const (
	Always Condition = iota
	// Unrestored: as long as the frame pointer is this frame's. Once it is the
	// caller's again the register has its caller's value too. gcc's tables of
	// functions that realign their stack do not say so (package cfi, realign.go).
	Unrestored
	// Pointed: if the frame pointer points to the place, else the value is lost.
	// Go's tables do not say where the frame pointer is saved (R12).
	Pointed
)

// Value says how a value is found.
type Value struct {
	From     From
	Deref    bool // the word at the sum or at the expression's value
	When     Condition
	Register unwind.Register
	Offset   int64
	Expr     DWARF // for [Expression]
}

// Saved is the value of a register in the caller.
type Saved struct {
	Register unwind.Register
	Value
}

// Rule says how to find the caller of a frame at one instruction.
type Rule struct {
	Arch unwind.Arch
	Big  bool // words are big-endian
	// Signal says that the caller was interrupted by a signal.
	Signal bool
	// Kept says that registers without a value are the caller's still where the C
	// ABI makes functions keep them; else they are lost.
	Kept bool

	CFA Value
	// Add is added to the word that was read from memory as the CFA.
	Add    int64
	RA, FP Value
	// Saved are the values of other registers. That of the stack pointer counts in
	// place of the CFA.
	Saved []Saved
}

// AtCFA is the word at an offset from the CFA.
func AtCFA(offset int64) Value { return Value{From: CFA, Deref: true, Offset: offset} }

// At is the word at an offset from a register.
func At(reg unwind.Register, offset int64) Value {
	return Value{From: Register, Deref: true, Register: reg, Offset: offset}
}

// In is a register plus an offset.
func In(reg unwind.Register, offset int64) Value {
	return Value{From: Register, Register: reg, Offset: offset}
}

// FramePointer is the rule of a frame that has set up its frame record, a pair of
// the caller's frame pointer and the return address.
func FramePointer(arch unwind.Arch) Rule {
	word := int64(arch.PointerSize())
	return Rule{Arch: arch, CFA: In(arch.FP(), 2*word), RA: AtCFA(-word), FP: AtCFA(-2 * word)}
}

// Entry is the rule at a function's first instruction.
func Entry(arch unwind.Arch) Rule {
	r := Rule{Arch: arch, Kept: true, CFA: In(arch.SP(), 0), RA: Value{From: Same}, FP: Value{From: Same}}
	if arch.LR() == unwind.NoRegister { // the call has pushed the return address
		r.CFA.Offset = int64(arch.PointerSize())
		r.RA = AtCFA(-r.CFA.Offset)
	}
	return r
}

// DWARF is a DWARF expression. The decoder of the table that it stands in
// implements it.
type DWARF interface {
	// Evaluate computes its value in a frame. With push it starts with the CFA on
	// its stack (DWARF 5, 6.4.2.3).
	Evaluate(f *Frame, cfa uint64, push bool) (uint64, error)
	// Operations are its bytes.
	Operations() []byte
	// String writes its operations, separated by commas.
	String() string
}

// value returns the rule of a register.
func (r *Rule) value(reg unwind.Register) Value {
	if reg == r.Arch.FP() {
		return r.FP
	}
	for i := range r.Saved {
		if r.Saved[i].Register == reg {
			return r.Saved[i].Value
		}
	}
	if r.Kept {
		if slices.Contains(r.Arch.CalleeSaved(), reg) {
			return Value{From: Same}
		}
	}
	return Value{}
}
