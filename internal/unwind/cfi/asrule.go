package cfi

import (
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// Rule makes a rule of the row's rules and, for registers that it does not mention,
// of the architecture's ABI.
func (row *Row) Rule() rule.Rule {
	row = row.abovePair()
	t := row.table
	arch := t.opts.Arch
	out := rule.Rule{Arch: arch, Big: t.big, Signal: row.Signal, Kept: !row.goCode,
		CFA: row.value(row.CFA), RA: row.returnAddress()}
	if row.goCode {
		out.FP = row.goFramePointer()
	} else if arch.FP() != unwind.NoRegister {
		out.FP = rule.Value{From: rule.Same}
	}
	if len(row.Rules) > 0 {
		out.Saved = make([]rule.Saved, 0, len(row.Rules))
	}
	for i := range row.Rules {
		r := &row.Rules[i]
		v := row.untilRestored(row.value(r.Rule))
		switch {
		case r.Register == arch.SP() && r.Kind == Undefined: // the CFA is known
		case r.Register != arch.FP():
			out.Saved = append(out.Saved, rule.Saved{Register: r.Register, Value: v})
		case !row.goCode:
			out.FP = v
		}
	}
	return out
}

// String writes the rules for CFA, return address and frame pointer as
// [unwind.Step] has them.
func (row *Row) String() string {
	r := row.Rule()
	return r.String()
}

// returnAddress is the return address's rule. Where there is none, or it is "same
// value", the address is still in the return address's column, if that is a
// register.
func (row *Row) returnAddress() rule.Value {
	lr := row.table.opts.Arch.LR()
	switch {
	case row.RA.Kind != Unspecified && row.RA.Kind != SameValue:
		return row.value(row.RA)
	case lr == unwind.NoRegister:
		return rule.Value{}
	case row.ReturnColumn == lr:
		return rule.Value{From: rule.Same}
	}
	return rule.In(row.ReturnColumn, 0)
}

// value is a rule's value. An unspecified one has none.
func (row *Row) value(r Rule) rule.Value {
	switch r.Kind {
	case Undefined:
		return rule.Value{From: rule.Undefined}
	case SameValue:
		return rule.Value{From: rule.Same}
	case AtCFA:
		return rule.AtCFA(r.Offset)
	case CFAPlus:
		return rule.Value{From: rule.CFA, Offset: r.Offset}
	case InRegister:
		return rule.In(r.Register, r.Offset)
	case AtExpression, ValExpression:
		return rule.Value{From: rule.Expression, Deref: r.Kind == AtExpression, Expr: row.table.expression(r)}
	}
	return rule.Value{}
}

// Go's FDEs say where the CFA and the return address are and nothing else,
// though a function with a frame saves its caller's frame pointer: on amd64
// right below the return address, on arm64 right below its own stack pointer
// (R12). The frame pointer of such a function points to the saved one; where it
// does not, assembly uses the register for something else.
func (row *Row) goFramePointer() rule.Value {
	arch := row.table.opts.Arch
	saved, frameless := rule.AtCFA(-16), int64(8)
	if arch == unwind.ARM64 {
		saved, frameless = rule.At(arch.SP(), -8), 0
	}
	switch {
	case row.CFA.Kind != InRegister || row.CFA.Register != arch.SP():
		return rule.Value{}
	case row.CFA.Offset == frameless:
		return rule.Value{From: rule.Same}
	}
	saved.When = rule.Pointed
	return saved
}

// expression is a rule's DWARF expression.
func (t *Table) expression(r Rule) *expression {
	return &expression{table: t, start: int(r.Offset), end: int(r.Offset) + int(r.size)}
}

// expression is a DWARF expression in a section. It implements [rule.DWARF].
type expression struct {
	table      *Table
	start, end int // in the section
}

func (e *expression) reader() reader {
	return reader{data: e.table.section.Data[:e.end], pos: e.start, big: e.table.big}
}

// Operations implements [rule.DWARF].
func (e *expression) Operations() []byte { return e.table.section.Data[e.start:e.end] }
