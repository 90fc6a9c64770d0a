package cfi

import (
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// gcc describes a function that realigns its stack (SSE or AVX variables, or
// -mstackrealign) with a register that holds the caller's stack pointer, r10 as
// a rule, and expressions relative to rbp:
//
//	lea  8(%rsp),%r10        cfa=r10
//	and  $-32,%rsp
//	push -8(%r10)
//	push %rbp
//	mov  %rsp,%rbp           rbp at [rbp], rbx at [rbp-40]
//	push %r10                cfa=[rbp-8]
//	...
//	pop  %r10                cfa=r10
//	pop  %rbp                (nothing)
//	lea  -8(%r10),%rsp       cfa=rsp+8
//	ret
//
// No rule describes that rbp and the registers saved relative to it are
// restored: in the last two instructions the rules read from the *caller's* rbp
// (gcc 12; clang restores them). The function's frame pointer lies between SP
// and CFA; the caller's rbp does not, since that part of the stack is this
// function's.

// untilRestored returns a register's value with the condition for saves that are
// relative to the frame pointer, in rows whose CFA does not rest on it.
func (row *Row) untilRestored(v rule.Value) rule.Value {
	arch := row.table.opts.Arch
	if v.From != rule.Expression || !v.Deref || row.CFA.Kind != InRegister || row.CFA.Register == arch.FP() {
		return v
	}
	r := v.Expr.(*expression).reader()
	op := r.byte()
	r.sleb()
	if op >= exBreg0 && op <= exBreg31 && unwind.Register(op-exBreg0) == arch.FP() && !r.failed && r.left() == 0 {
		v.When = rule.Unrestored
	}
	return v
}
