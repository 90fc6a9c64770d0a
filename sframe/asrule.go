package sframe

import (
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// savedS390X is the caller's stack pointer on s390x: the CFA lies behind the area
// that callees save registers in.
var savedS390X = []rule.Saved{{Register: unwind.S390XR15, Value: rule.Value{From: rule.CFA, Offset: -biasS390X}}}

// Rule makes one rule of the row's. It does not allocate.
//
// A caller has a program counter, a stack pointer and, where it can be had, a
// frame pointer. SFrame says of no other register whether a function changes it,
// so none is known after a step.
func (r *Row) Rule() rule.Rule {
	out := rule.Rule{Arch: r.arch, Big: r.big, Signal: r.Signal, RA: r.RA.value()}
	if r.RA.Kind == Undefined {
		return out
	}
	out.FP = r.FP.value()
	if r.CFA.Kind != Unchanged { // else a hole, or a signal's frame without a rule
		out.CFA = r.CFA.value()
	}
	if fp := r.arch.FP(); r.FP.Kind == FromRegister && r.FP.Deref && r.FP.Register == fp && r.CFA.Register != fp {
		out.FP.When = rule.Unrestored // gcc's realigned functions: see package cfi, realign.go
	}
	if r.arch == unwind.S390X {
		out.Saved = savedS390X
	}
	return out
}

// value is a rule's value.
func (r Rule) value() rule.Value {
	v := rule.Value{Deref: r.Deref, Register: r.Register, Offset: int64(r.Offset)}
	switch r.Kind {
	case Unchanged:
		return rule.Value{From: rule.Same}
	case Undefined:
		return rule.Value{From: rule.Undefined}
	case FromCFA:
		v.From = rule.CFA
	case FromRegister:
		v.From = rule.Register
	}
	return v
}

// String writes the rules for CFA, return address and frame pointer as
// [unwind.Step] has them.
func (r *Row) String() string {
	made := r.Rule()
	return made.String()
}
