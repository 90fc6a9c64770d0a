package cfi

import (
	"strconv"
	"strings"

	"github.com/clewdbg/clew/internal/unwind/apply"
	"github.com/clewdbg/clew/unwind"
)

// Equations are a row's rules as they are shown: `rsp+16`, `[cfa-8]`, `cfa-16`,
// `rdx`, `x30` (still in the link register), `unchanged`, `undefined`,
// `expr:...` (a value) or `[expr:...]` (the word there).
type Equations struct {
	CFA, RA, FP string
	Saved       []Saved // the other registers that have rules, by ascending column
}

// Saved is a register's rule as an equation.
type Saved struct{ Register, Rule string }

// Equations writes the row's rules.
func (row *Row) Equations() Equations {
	arch := row.table.opts.Arch
	eq := Equations{CFA: row.equation(row.CFA, ""), FP: row.equation(row.rule(arch.FP()), "unchanged")}
	same := "undefined"
	if arch.LR() != unwind.NoRegister {
		same = arch.RegisterName(row.ReturnColumn)
	}
	eq.RA = row.equation(row.RA, same)
	if row.goCode {
		eq.FP = row.goEquation()
	}
	for _, r := range row.Rules {
		if r.Register != arch.FP() && r.Register != arch.SP() {
			eq.Saved = append(eq.Saved, Saved{arch.RegisterName(r.Register), row.equation(r.Rule, "unchanged")})
		}
	}
	return eq
}

// String writes the rules for CFA, return address and frame pointer as
// [unwind.Step] has them: "cfa=rbp+16; ra=[cfa-8]; fp=[cfa-16]".
func (row *Row) String() string {
	eq := row.Equations()
	return "cfa=" + eq.CFA + "; ra=" + eq.RA + "; fp=" + eq.FP
}

// goEquation is what goFramePointer does.
func (row *Row) goEquation() string {
	arch := row.table.opts.Arch
	switch _, frameless := row.goSlot(); {
	case row.CFA.Kind != InRegister || row.CFA.Register != arch.SP():
		return "undefined"
	case row.CFA.Offset == frameless:
		return "unchanged"
	case arch == unwind.ARM64:
		return "[sp-8]"
	}
	return "[cfa-16]"
}

// equation writes a rule; same stands for a register that keeps its value.
func (row *Row) equation(rule Rule, same string) string {
	switch rule.Kind {
	case Unspecified, SameValue:
		return same
	case AtCFA:
		return "[" + apply.Sum("cfa", rule.Offset) + "]"
	case CFAPlus:
		return apply.Sum("cfa", rule.Offset)
	case InRegister:
		return apply.Sum(row.table.opts.Arch.RegisterName(rule.Register), rule.Offset)
	case AtExpression:
		return "[expr:" + row.expressionText(rule) + "]"
	case ValExpression:
		return "expr:" + row.expressionText(rule)
	}
	return "undefined"
}

// maxText bounds the operations of an expression that are written.
const maxText = 40

var opNames = map[byte]string{exDeref: "deref", exDup: "dup", exDrop: "drop", exOver: "over", exSwap: "swap", exRot: "rot", exAbs: "abs",
	exAnd: "and", exDiv: "div", exMinus: "minus", exMod: "mod", exMul: "mul", exNeg: "neg", exNot: "not", exOr: "or", exPlus: "plus",
	exShl: "shl", exShr: "shr", exShra: "shra", exXor: "xor", exEq: "eq", exGe: "ge", exGt: "gt", exLe: "le", exLt: "lt", exNe: "ne", exNop: "nop"}

// expressionText writes an expression's operations, separated by commas, in
// the order of evaluation: constants as numbers, registers with their offset,
// jumps with their distance.
func (row *Row) expressionText(rule Rule) string {
	t := row.table
	x := expr{e: &evaluation{row: row}, r: reader{data: t.section.Data[:rule.Offset+int64(rule.size)], pos: int(rule.Offset), big: t.big}}
	r := &x.r
	var b strings.Builder
	for n := 0; r.left() > 0 && !r.failed; n++ {
		if n > 0 {
			b.WriteByte(',')
		}
		if n == maxText {
			b.WriteString("...")
			break
		}
		op := r.byte()
		switch {
		case op >= exLit0 && op <= exLit31:
			b.WriteString(strconv.Itoa(int(op - exLit0)))
		case op >= exBreg0 && op <= exBreg31:
			b.WriteString(apply.Sum(t.opts.Arch.RegisterName(unwind.Register(op-exBreg0)), r.sleb()))
		case op == exBregx:
			reg := unwind.Register(r.uleb())
			b.WriteString(apply.Sum(t.opts.Arch.RegisterName(reg), r.sleb()))
		case op == exAddr:
			b.WriteString("0x" + strconv.FormatUint(x.constant(op), 16))
		case op >= exConst1u && op <= exConsts:
			b.WriteString(strconv.FormatInt(int64(x.constant(op)), 10))
		case op == exPlusUconst:
			b.WriteString("plus " + strconv.FormatUint(r.uleb(), 10))
		case op == exPick:
			b.WriteString("pick " + strconv.Itoa(int(r.byte())))
		case op == exDerefSize:
			b.WriteString("deref " + strconv.Itoa(int(r.byte())))
		case op == exBra:
			b.WriteString("bra " + strconv.FormatInt(r.signed(2), 10))
		case op == exSkip:
			b.WriteString("skip " + strconv.FormatInt(r.signed(2), 10))
		case opNames[op] != "":
			b.WriteString(opNames[op])
		default: // its operands are not known: the rest cannot be told
			b.WriteString("op 0x" + strconv.FormatUint(uint64(op), 16) + "...")
			return b.String()
		}
	}
	return b.String()
}
