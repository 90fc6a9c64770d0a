package cfi

import (
	"fmt"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// Operations of DWARF expressions (DWARF 5, 7.7.1) that may occur in call-frame
// information (6.4.2 excludes those that need a compilation unit, an object or
// a frame base).
const (
	exAddr       = 0x03
	exDeref      = 0x06
	exConst1u    = 0x08
	exConst1s    = 0x09
	exConst2u    = 0x0a
	exConst2s    = 0x0b
	exConst4u    = 0x0c
	exConst4s    = 0x0d
	exConst8u    = 0x0e
	exConst8s    = 0x0f
	exConstu     = 0x10
	exConsts     = 0x11
	exDup        = 0x12
	exDrop       = 0x13
	exOver       = 0x14
	exPick       = 0x15
	exSwap       = 0x16
	exRot        = 0x17
	exAbs        = 0x19
	exAnd        = 0x1a
	exDiv        = 0x1b
	exMinus      = 0x1c
	exMod        = 0x1d
	exMul        = 0x1e
	exNeg        = 0x1f
	exNot        = 0x20
	exOr         = 0x21
	exPlus       = 0x22
	exPlusUconst = 0x23
	exShl        = 0x24
	exShr        = 0x25
	exShra       = 0x26
	exXor        = 0x27
	exBra        = 0x28
	exEq         = 0x29
	exGe         = 0x2a
	exGt         = 0x2b
	exLe         = 0x2c
	exLt         = 0x2d
	exNe         = 0x2e
	exSkip       = 0x2f
	exLit0       = 0x30
	exLit31      = 0x4f
	exBreg0      = 0x70
	exBreg31     = 0x8f
	exBregx      = 0x92
	exDerefSize  = 0x94
	exNop        = 0x96
)

const (
	// maxSteps bounds the operations of one expression. Those of compilers have a
	// dozen; only ones with a loop can have many.
	maxSteps = 1000
	// maxStack bounds the stack of an expression, as libgcc does.
	maxStack = 64
)

// evaluation evaluates one expression.
type evaluation struct {
	table *Table
	frame *rule.Frame
	r     reader
	stack [maxStack]uint64
	depth int
}

// Evaluate implements [rule.DWARF]. The errors are those of package rule, and
// [*Error] where the expression makes no sense. It does not allocate where there is
// no error.
func (e *expression) Evaluate(f *rule.Frame, cfa uint64, push bool) (uint64, error) {
	x := evaluation{table: e.table, frame: f, r: e.reader()}
	if push {
		x.push(cfa)
	}
	for steps := 0; x.r.left() > 0; steps++ {
		at := x.r.pos
		reason := "it does not end"
		if steps < maxSteps {
			var err error
			if reason, err = x.step(e.start); err != nil {
				return 0, err
			}
		}
		if reason == "" && x.r.failed {
			reason = "it is cut off"
		}
		if reason != "" {
			return 0, e.table.errorf(uint64(at), "expression: %s", reason)
		}
	}
	if x.depth == 0 {
		return 0, e.table.errorf(uint64(e.start), "expression: it leaves no value")
	}
	return x.stack[x.depth-1], nil
}

func (x *evaluation) push(v uint64) string {
	if x.depth == maxStack {
		return "its stack is full"
	}
	if x.table.addrSize == 4 {
		v &= 0xffff_ffff
	}
	x.stack[x.depth] = v
	x.depth++
	return ""
}

// top returns the entry that is n below the top.
func (x *evaluation) top(n int) *uint64 { return &x.stack[x.depth-1-n] }

const underflow = "its stack is too short"

// step executes one operation: reason is the fault of the expression, if any.
func (x *evaluation) step(start int) (reason string, err error) {
	op := x.r.byte()
	switch {
	case op >= exLit0 && op <= exLit31:
		return x.push(uint64(op - exLit0)), nil
	case op >= exBreg0 && op <= exBreg31:
		return x.breg(uint64(op - exBreg0))
	case op == exBregx:
		return x.breg(x.r.uleb())
	case op == exDeref:
		return x.deref(x.table.addrSize)
	case op == exDerefSize:
		return x.deref(int(x.r.byte()))
	case op == exBra || op == exSkip:
		return x.jump(op, start), nil
	case op >= exConst1u && op <= exConsts || op == exAddr:
		return x.push(x.constant(op)), nil
	case op >= exDup && op <= exRot:
		return x.shuffle(op), nil
	case op == exAbs || op == exNeg || op == exNot || op == exPlusUconst:
		return x.unary(op), nil
	case op >= exAnd && op <= exNe:
		return x.binary(op), nil
	case op == exNop:
		return "", nil
	}
	return fmt.Sprintf("operation %#x is not known here", op), nil
}

func (x *evaluation) constant(op byte) uint64 {
	switch op {
	case exAddr:
		return x.r.unsigned(x.table.addrSize) + x.table.opts.Bias
	case exConstu:
		return x.r.uleb()
	case exConsts:
		return uint64(x.r.sleb())
	}
	size := 1 << ((op - exConst1u) / 2)
	if (op-exConst1u)%2 == 1 {
		return uint64(x.r.signed(size))
	}
	return x.r.unsigned(size)
}

// breg pushes a register's value plus an offset.
func (x *evaluation) breg(reg uint64) (reason string, err error) {
	offset := x.r.sleb()
	if _, ok := columnOf(reg); !ok {
		return fmt.Sprintf("register %d is not known", reg), nil
	}
	v, ok := x.frame.Registers.Get(unwind.Register(reg))
	if !ok {
		return "", &rule.MissingRegister{Register: unwind.Register(reg), Name: x.table.opts.Arch.RegisterName(unwind.Register(reg)), For: "an expression"}
	}
	return x.push(v + uint64(offset)), nil
}

func (x *evaluation) deref(size int) (reason string, err error) {
	switch {
	case x.depth == 0:
		return underflow, nil
	case size != 1 && size != 2 && size != 4 && size != 8, size > x.table.addrSize:
		return fmt.Sprintf("it reads %d bytes", size), nil
	}
	v, err := x.read(*x.top(0), size)
	*x.top(0) = v
	return "", err
}

// read reads a number of 1, 2, 4 or 8 bytes.
func (x *evaluation) read(addr uint64, size int) (uint64, error) {
	for i := range x.frame.Memory {
		if w := &x.frame.Memory[i]; w.Contains(addr, size) {
			r := reader{data: w.Data, pos: int(addr - w.Addr), big: x.table.big}
			return r.unsigned(size), nil
		}
	}
	return 0, rule.Need(addr, size)
}

// jump skips, or branches where the top of the stack is not 0.
func (x *evaluation) jump(op byte, start int) (reason string) {
	to := x.r.signed(2)
	if op == exBra {
		if x.depth == 0 {
			return underflow
		}
		x.depth--
		if x.stack[x.depth] == 0 {
			return ""
		}
	}
	target := int64(x.r.pos) + to
	if target < int64(start) || target > int64(len(x.r.data)) {
		return "it jumps out of itself"
	}
	x.r.pos = int(target)
	return ""
}

// shuffle executes operations that only move entries.
func (x *evaluation) shuffle(op byte) (reason string) {
	n := 0 // the deepest entry that it touches
	switch op {
	case exOver, exSwap:
		n = 1
	case exRot:
		n = 2
	case exPick:
		n = int(x.r.byte())
	}
	if n >= x.depth {
		return underflow
	}
	switch op {
	case exDup, exOver, exPick:
		return x.push(*x.top(n))
	case exDrop:
		x.depth--
	case exSwap:
		*x.top(0), *x.top(1) = *x.top(1), *x.top(0)
	case exRot:
		*x.top(0), *x.top(1), *x.top(2) = *x.top(1), *x.top(2), *x.top(0)
	}
	return ""
}

func (x *evaluation) unary(op byte) (reason string) {
	if x.depth == 0 {
		return underflow
	}
	v := x.top(0)
	switch op {
	case exAbs:
		if x.signed(*v) < 0 {
			*v = -*v
		}
	case exNeg:
		*v = -*v
	case exNot:
		*v = ^*v
	case exPlusUconst:
		*v += x.r.uleb()
	}
	*v = truncate(*v, x.table.addrSize)
	return ""
}

// signed returns a value as a signed number of the size of an address.
func (x *evaluation) signed(v uint64) int64 {
	if x.table.addrSize == 4 {
		return int64(int32(v))
	}
	return int64(v)
}

// binary executes operations on the two top entries: a below b.
func (x *evaluation) binary(op byte) (reason string) {
	if x.depth < 2 {
		return underflow
	}
	a, b := *x.top(1), *x.top(0)
	x.depth -= 2
	sa, sb := x.signed(a), x.signed(b)
	var v uint64
	switch op {
	case exAnd:
		v = a & b
	case exDiv:
		if sb == 0 {
			return "it divides by 0"
		}
		v = uint64(sa / sb)
	case exMinus:
		v = a - b
	case exMod:
		if b == 0 {
			return "it divides by 0"
		}
		v = a % b
	case exMul:
		v = a * b
	case exOr:
		v = a | b
	case exPlus:
		v = a + b
	case exShl:
		v = a << b // 0 where b is 64 or more
	case exShr:
		v = a >> b
	case exShra:
		v = uint64(sa >> b)
	case exXor:
		v = a ^ b
	default:
		v = compare(op, sa, sb)
	}
	return x.push(v)
}

// compare returns 1 where a relation holds, else 0.
func compare(op byte, a, b int64) uint64 {
	var holds bool
	switch op {
	case exEq:
		holds = a == b
	case exGe:
		holds = a >= b
	case exGt:
		holds = a > b
	case exLe:
		holds = a <= b
	case exLt:
		holds = a < b
	case exNe:
		holds = a != b
	}
	if holds {
		return 1
	}
	return 0
}
