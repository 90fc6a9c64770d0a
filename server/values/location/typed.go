package location

import (
	"encoding/binary"
	"math"

	"github.com/clewdbg/clew/server/values/types"
)

// base reads the reference to a base type; nil is the type of words.
func (x *machine) base() (*types.Type, error) {
	off, err := x.uleb()
	if err != nil || off == 0 {
		return nil, err
	}
	e, err := x.entry.InUnit(off)
	if err != nil {
		return nil, err
	}
	t, err := x.context.Types().At(e)
	if err != nil {
		return nil, err
	}
	if t.Kind != types.Base || t.Size <= 0 {
		return nil, x.fail("the type %s is no base type", t)
	}
	return t, nil
}

// typed executes operations that have a type.
func (x *machine) typed(op byte) error {
	switch op {
	case opRegvalType:
		reg, err := x.uleb()
		if err != nil {
			return err
		}
		of, err := x.base()
		if err != nil {
			return err
		}
		data, err := x.context.Register(reg)
		if err != nil {
			return err
		}
		size := 8
		if of != nil {
			size = int(of.Size)
		}
		if size > len(data) {
			return x.fail("%d bytes of a register of %d", size, len(data))
		}
		x.push(x.typedValue(data[:size], of))
		return nil
	case opConstType:
		of, err := x.base()
		if err != nil {
			return err
		}
		n, err := x.uint(1)
		if err != nil {
			return err
		}
		data, err := x.bytes(n)
		if err != nil {
			return err
		}
		x.push(x.typedValue(data, of))
		return nil
	}
	of, err := x.base()
	if err != nil {
		return err
	}
	v, err := x.pop()
	if err != nil {
		return err
	}
	if op == opReinterpret {
		v.of = of
		x.push(v)
		return nil
	}
	bent := v.bent || v.stack
	v, err = x.convert(v, of)
	v.bent = bent
	x.push(v)
	return err
}

// isFloat says whether a type's values are of floating point, of 4 or 8 bytes.
func isFloat(t *types.Type) bool { return t != nil && t.Encoding == types.EncodingFloat }

// convert converts a number.
func (x *machine) convert(v value, to *types.Type) (value, error) {
	if v.wide != nil || to != nil && to.Size > 8 {
		return x.convertWide(v, to)
	}
	switch {
	case isFloat(v.of) && isFloat(to):
		return x.fromFloat(x.float(v), to)
	case isFloat(to):
		if x.isSigned(v) {
			return x.fromFloat(float64(x.signed(v)), to)
		}
		return x.fromFloat(float64(x.unsigned(v)), to)
	case isFloat(v.of):
		f := x.float(v)
		out := value{bits: uint64(int64(f)), of: to}
		if f >= 1<<63 {
			out.bits = uint64(f)
		}
		out.bits = x.unsigned(out)
		return out, nil
	}
	n := x.unsigned(v)
	if x.isSigned(v) {
		n = uint64(x.signed(v))
	}
	out := value{bits: n, of: to}
	out.bits = x.unsigned(out)
	return out, nil
}

// convertWide converts integers of 16 bytes. LLVM describes them wrongly, as without sign, and places as values: of its, those count that are the same
// with a sign and without.
func (x *machine) convertWide(v value, to *types.Type) (value, error) {
	isWide := func(t *types.Type) bool { return t != nil && t.IsInteger() && t.Size == 16 }
	from := v.of != nil && v.of.IsInteger() && v.of.Size <= 8 || v.of == nil && v.wide == nil
	unsure := x.context.ByLLVM() && (!isWide(to) || v.stack || v.bent || x.signed(v) < 0 && !(x.isSigned(v) && to.IsSigned()))
	switch {
	case unsure || x.context.Order() != binary.LittleEndian:
	case isWide(to) && isWide(v.of) && len(v.wide) == 16:
		return value{of: to, wide: v.wide}, nil
	case isWide(to) && from:
		out := make([]byte, 16)
		n := x.unsigned(v)
		if x.isSigned(v) && x.signed(v) < 0 {
			n = uint64(x.signed(v))
			binary.LittleEndian.PutUint64(out[8:], ^uint64(0))
		}
		binary.LittleEndian.PutUint64(out, n)
		return value{of: to, wide: out}, nil
	case isWide(v.of) && len(v.wide) == 16 && (to == nil || to.IsInteger() && to.Size <= 8):
		out := value{bits: binary.LittleEndian.Uint64(v.wide), of: to}
		out.bits = x.unsigned(out)
		return out, nil
	}
	return v, x.fail("a number of more than 8 bytes is converted")
}

// size is how many bits a value has.
func (x *machine) size(v value) uint {
	if v.of == nil {
		_, address, _ := x.entry.Sizes()
		return uint(8 * address)
	}
	return uint(8 * min(v.of.Size, 8))
}

func (x *machine) isSigned(v value) bool { return v.of != nil && v.of.IsSigned() }

func (x *machine) unsigned(v value) uint64 { return v.bits << (64 - x.size(v)) >> (64 - x.size(v)) }

func (x *machine) signed(v value) int64 { return int64(v.bits<<(64-x.size(v))) >> (64 - x.size(v)) }

func (x *machine) float(v value) float64 {
	if v.of.Size == 4 {
		return float64(math.Float32frombits(uint32(v.bits)))
	}
	return math.Float64frombits(v.bits)
}

func (x *machine) fromFloat(f float64, of *types.Type) (value, error) {
	switch of.Size {
	case 4:
		return value{bits: uint64(math.Float32bits(float32(f))), of: of}, nil
	case 8:
		return value{bits: math.Float64bits(f), of: of}, nil
	}
	return value{}, x.fail("floating point of %d bytes", of.Size)
}

// arithmetic executes operations on numbers.
func (x *machine) arithmetic(op byte) error {
	b, err := x.pop()
	if err != nil {
		return err
	}
	if b.wide != nil {
		return x.fail("arithmetic on more than 8 bytes")
	}
	switch op {
	case opAbs, opNeg, opNot, opPlusUconst:
		return x.unary(op, b)
	}
	a, err := x.pop()
	if err != nil {
		return err
	}
	if a.wide != nil {
		return x.fail("arithmetic on more than 8 bytes")
	}
	shifts := op == opShl || op == opShr || op == opShra
	if !shifts && (a.of == nil) != (b.of == nil) || !shifts && a.of != nil && a.of != b.of && (a.of.Size != b.of.Size || a.of.Encoding != b.of.Encoding) {
		return x.fail("arithmetic on two types")
	}
	if isFloat(a.of) {
		return x.floats(op, a, b)
	}
	v, err := x.integers(op, a, b)
	if err != nil {
		return err
	}
	out := value{bits: v, of: a.of}
	switch {
	case op >= opEq && op <= opNe:
		out.of = nil
	case op == opPlus && a.stack != b.stack, op == opMinus && a.stack && !b.stack:
		out.stack, out.bent = true, a.bent || b.bent
	case op != opMinus || a.stack != b.stack:
		out.bent = a.stack || b.stack || a.bent || b.bent
	}
	out.bits = x.unsigned(out)
	x.push(out)
	return nil
}

func (x *machine) unary(op byte, v value) error {
	if isFloat(v.of) {
		f := x.float(v)
		switch {
		case op == opNeg:
			f = -f
		case op == opAbs:
			f = math.Abs(f)
		default:
			return x.fail("an operation on bits of a number of floating point")
		}
		out, err := x.fromFloat(f, v.of)
		x.push(out)
		return err
	}
	switch op {
	case opAbs:
		if n := x.signed(v); n < 0 {
			v.bits = uint64(-n)
		}
	case opNeg:
		v.bits = -v.bits
	case opNot:
		v.bits = ^v.bits
	default:
		n, err := x.uleb()
		if err != nil {
			return err
		}
		v.bits += n
	}
	v.bent = v.bent || v.stack && op != opPlusUconst
	v.bits = x.unsigned(v)
	x.push(v)
	return nil
}

// integers computes a op b. Words are signed in divisions and comparisons, and not in remainders (DWARF 5,
// section 2.5.1.4).
func (x *machine) integers(op byte, a, b value) (uint64, error) {
	ua, ub, sa, sb := x.unsigned(a), x.unsigned(b), x.signed(a), x.signed(b)
	signed := a.of == nil || x.isSigned(a)
	truth := func(s, u bool) (uint64, error) {
		if signed && s || !signed && u {
			return 1, nil
		}
		return 0, nil
	}
	switch op {
	case opAnd:
		return ua & ub, nil
	case opOr:
		return ua | ub, nil
	case opXor:
		return ua ^ ub, nil
	case opPlus:
		return ua + ub, nil
	case opMinus:
		return ua - ub, nil
	case opMul:
		return ua * ub, nil
	case opDiv, opMod:
		switch {
		case ub == 0:
			return 0, x.fail("a division by 0")
		case op == opDiv && signed && sb == -1:
			return uint64(-sa), nil
		case op == opDiv && signed:
			return uint64(sa / sb), nil
		case op == opDiv:
			return ua / ub, nil
		case a.of != nil && signed && sb == -1:
			return 0, nil
		case a.of != nil && signed:
			return uint64(sa % sb), nil
		}
		return ua % ub, nil
	case opShl:
		return ua << ub, nil
	case opShr:
		return ua >> ub, nil
	case opShra:
		return uint64(sa >> ub), nil
	case opEq:
		return truth(ua == ub, ua == ub)
	case opNe:
		return truth(ua != ub, ua != ub)
	case opGe:
		return truth(sa >= sb, ua >= ub)
	case opGt:
		return truth(sa > sb, ua > ub)
	case opLe:
		return truth(sa <= sb, ua <= ub)
	case opLt:
		return truth(sa < sb, ua < ub)
	}
	return 0, x.fail("the operation %#x is not supported", op)
}

func (x *machine) floats(op byte, a, b value) error {
	fa, fb := x.float(a), x.float(b)
	var f float64
	holds := false
	switch op {
	case opPlus:
		f = fa + fb
	case opMinus:
		f = fa - fb
	case opMul:
		f = fa * fb
	case opDiv:
		f = fa / fb
	case opEq:
		holds = fa == fb
	case opNe:
		holds = fa != fb
	case opGe:
		holds = fa >= fb
	case opGt:
		holds = fa > fb
	case opLe:
		holds = fa <= fb
	case opLt:
		holds = fa < fb
	default:
		return x.fail("an operation on bits of a number of floating point")
	}
	if op >= opEq && op <= opNe {
		v := word(0)
		if holds {
			v.bits = 1
		}
		x.push(v)
		return nil
	}
	out, err := x.fromFloat(f, a.of)
	x.push(out)
	return err
}
