package cfi

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/clewdbg/clew/unwind"
)

// maxText bounds the operations of an expression that are written.
const maxText = 40

var opNames = map[byte]string{exDeref: "deref", exDup: "dup", exDrop: "drop", exOver: "over", exSwap: "swap", exRot: "rot", exAbs: "abs",
	exAnd: "and", exDiv: "div", exMinus: "minus", exMod: "mod", exMul: "mul", exNeg: "neg", exNot: "not", exOr: "or", exPlus: "plus",
	exShl: "shl", exShr: "shr", exShra: "shra", exXor: "xor", exEq: "eq", exGe: "ge", exGt: "gt", exLe: "le", exLt: "lt", exNe: "ne", exNop: "nop"}

// String writes the operations, separated by commas, in the order of evaluation:
// constants as numbers, registers with their offset, jumps with their distance.
func (e *expression) String() string {
	t := e.table
	x := evaluation{table: t, r: e.reader()}
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
			b.WriteString(t.registerSum(uint64(op-exBreg0), r.sleb()))
		case op == exBregx:
			reg := r.uleb()
			b.WriteString(t.registerSum(reg, r.sleb()))
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

// registerSum writes a register plus an offset.
func (t *Table) registerSum(reg uint64, offset int64) string {
	name := t.opts.Arch.RegisterName(unwind.Register(reg))
	if offset == 0 {
		return name
	}
	return fmt.Sprintf("%s%+d", name, offset)
}
