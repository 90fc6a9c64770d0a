package cfi

import "github.com/clewdbg/clew/unwind"

// RuleKind is the way to find a register's value in the caller (DWARF 5,
// 6.4.1).
type RuleKind uint8

// The kinds of rules.
const (
	Unspecified   RuleKind = iota // no rule; the ABI defines its meaning
	Undefined                     // cannot be recovered
	SameValue                     // still in the register
	AtCFA                         // in memory at CFA + Offset
	CFAPlus                       // is CFA + Offset (val_offset)
	InRegister                    // is in Register, plus Offset where it is the CFA's rule
	AtExpression                  // in memory at the value of the expression
	ValExpression                 // is the value of the expression: not read from there
)

// Rule is DWARF's rule for a value; rows are decoded to it. [Row.Rule] makes a
// [rule.Rule] of them.
type Rule struct {
	Kind     RuleKind
	Register unwind.Register
	size     uint32 // of the expression
	Offset   int64  // of the expression in the section, for expressions
}

// columns is the number of registers that rules are kept for. Rules for others
// (vector registers) are decoded and dropped.
const columns = 44

// columnOf returns a register's place in a state; ok is false for registers that
// are not kept. Those that are kept have the numbers of [unwind.Registers].
func columnOf(reg uint64) (column int, ok bool) {
	switch {
	case reg <= 34:
		return int(reg), true
	case reg == uint64(unwind.S390XPC):
		return 35, true
	case reg >= 72 && reg <= 79:
		return int(reg-72) + 36, true
	}
	return 0, false
}

func columnRegister(column int) unwind.Register {
	switch {
	case column <= 34:
		return unwind.Register(column)
	case column == 35:
		return unwind.S390XPC
	}
	return unwind.Register(column - 36 + 72)
}

// state is a row while instructions are executed.
type state struct {
	cfa    Rule
	signed bool // the return address is signed (Arm)
	rules  [columns]Rule
}

// RegisterRule is a register's rule in a row.
type RegisterRule struct {
	Register unwind.Register
	Rule
}

// initial is the state that a CIE's instructions leave, for its FDEs to start
// from. Only the rules that there are take memory.
type initial struct {
	cfa    Rule
	signed bool
	rules  []RegisterRule
}

func (s *state) pack() initial {
	i := initial{cfa: s.cfa, signed: s.signed}
	n := 0
	for c := range s.rules {
		if s.rules[c].Kind != Unspecified {
			n++
		}
	}
	i.rules = make([]RegisterRule, 0, n)
	for c, r := range s.rules {
		if r.Kind != Unspecified {
			i.rules = append(i.rules, RegisterRule{columnRegister(c), r})
		}
	}
	return i
}

func (s *state) unpack(i *initial) {
	*s = state{cfa: i.cfa, signed: i.signed}
	for _, r := range i.rules {
		c, _ := columnOf(uint64(r.Register))
		s.rules[c] = r.Rule
	}
}

// rule returns the rule for a register.
func (i *initial) rule(reg unwind.Register) Rule {
	for k := range i.rules {
		if i.rules[k].Register == reg {
			return i.rules[k].Rule
		}
	}
	return Rule{}
}
