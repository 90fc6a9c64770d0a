package values

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/clewdbg/clew/server/values/expr"
	"github.com/clewdbg/clew/server/values/show"
	"github.com/clewdbg/clew/server/values/types"
)

// operand is a value in arithmetic.
type operand struct {
	of      *types.Type // with its size and sign
	integer uint64      // sign-extended
	float   float64
	isFloat bool
	pointer *types.Type // what it points to
}

// operandOf reads a value for arithmetic; failed is a value that is not known.
func operandOf(v *Value) (o operand, failed *Value, err error) {
	v = plain(v)
	u, bad := v.under()
	if bad != nil {
		return o, v, nil
	}
	o.of = u
	switch {
	case u.Kind == types.Function:
		addr, ok := v.Address()
		if !ok {
			return o, nil, errors.New("the function has no address")
		}
		o.integer, o.pointer = addr, u
		return o, nil, nil
	case u.Kind == types.Array:
		addr, ok := v.Address()
		if !ok {
			return o, nil, errors.New("an array that does not lie in memory has no address")
		}
		o.integer = addr
		o.pointer, err = u.Element()
		return o, nil, err
	case u.Kind == types.Base && u.Encoding == types.EncodingFloat:
		data, bad := v.read(u.Size)
		if bad != nil {
			return o, v.frame.unknown(v.Name, bad), nil
		}
		switch u.Size {
		case 4:
			o.float = float64(math.Float32frombits(v.frame.Order().Uint32(data)))
		case 8:
			o.float = math.Float64frombits(v.frame.Order().Uint64(data))
		default:
			return o, nil, fmt.Errorf("arithmetic with %s is not supported", v.Type())
		}
		o.isFloat = true
		return o, nil, nil
	case u.IsInteger() || u.Kind == types.Enum || u.Kind == types.Pointer || u.Kind == types.Base && u.Encoding == types.EncodingAddress:
		if v.bits == 0 {
			if size, bad := u.Bytes(); bad != nil || size > 8 {
				return o, nil, fmt.Errorf("arithmetic with %s is not supported", v.Type())
			}
		}
		n, bad := v.word()
		if bad != nil {
			return o, v.frame.unknown(v.Name, bad), nil
		}
		o.integer = n
		if u.Kind == types.Pointer {
			o.pointer, err = u.Target()
		}
		return o, nil, err
	}
	return o, nil, fmt.Errorf("%s is no number", v.Type())
}

// number types that results have.
var (
	boolType     = types.Number("bool", 1, types.EncodingBoolean)
	wordType     = types.Number("unsigned long", 8, types.EncodingUnsigned)
	doubleType   = types.Number("double", 8, types.EncodingFloat)
	intType      = types.Number("int", 4, types.EncodingSigned)
	unsignedType = types.Number("unsigned int", 4, types.EncodingUnsigned)
	charType     = types.Number("char", 1, types.EncodingSignedChar)
	floatType    = types.Number("float", 4, types.EncodingFloat)
)

// common is the type of an operation on two integers: at least int, as large as the larger, without sign where the
// larger has none.
func common(a, b *types.Type) *types.Type {
	size, unsigned := int64(4), false
	for _, t := range []*types.Type{a, b} {
		n, err := t.Bytes()
		if err != nil || n < 4 {
			continue
		}
		switch {
		case n > size:
			size, unsigned = n, !t.IsSigned()
		case n == size:
			unsigned = unsigned || !t.IsSigned()
		}
	}
	switch {
	case size > 4 && unsigned:
		return wordType
	case size > 4:
		return indexType
	case unsigned:
		return unsignedType
	}
	return intType
}

func (f *Frame) ofInteger(n uint64, t *types.Type) *Value {
	return f.valueOf(wordOf(n)[:t.Size], t)
}

func (f *Frame) truth(b bool) *Value {
	if b {
		return f.valueOf([]byte{1}, boolType)
	}
	return f.valueOf([]byte{0}, boolType)
}

// ofFloat is a number of floating point, as large as the larger of those that it is computed from.
func (f *Frame) ofFloat(x float64, size int64) *Value {
	if size == 4 {
		return f.valueOf(wordOf(uint64(math.Float32bits(float32(x))))[:4], floatType)
	}
	return f.valueOf(wordOf(math.Float64bits(x)), doubleType)
}

// floatSize is the size of what is computed from two numbers, of which one at least is of floating point.
func floatSize(a, b operand) int64 {
	for _, o := range []operand{a, b} {
		if o.isFloat && o.of.Size != 4 {
			return 8
		}
	}
	return 4
}

func (e *evaluator) unary(n expr.Unary) (*Value, error) {
	v, err := e.eval(n.Of)
	if err != nil {
		return nil, err
	}
	f := e.frame
	switch n.Op {
	case "*":
		v = plain(v)
		u, err := v.under()
		if err != nil {
			return v, nil
		}
		switch u.Kind {
		case types.Array:
			return v.element(u, 0), nil
		case types.Function:
			return v, nil
		}
		if to := v.pointee(); to != nil {
			return to, nil
		}
		if c := v.container(); c != nil && c.by.Kind == show.Optional {
			if c.one == nil {
				return nil, errNone
			}
			return c.one, nil
		}
		if u.Kind != types.Pointer {
			return nil, fmt.Errorf("%s is no pointer", v.Type())
		}
		return v.Follow(), nil
	case "&":
		v = plain(v)
		if v.err != nil {
			return v, nil
		}
		addr, ok := v.Address()
		if !ok {
			return nil, errors.New("it does not lie in memory, and has no address")
		}
		return f.valueOf(wordOf(addr), types.PointerTo(v.typ, int64(f.stack.Arch.PointerSize()))), nil
	}
	o, failed, err := operandOf(v)
	if failed != nil || err != nil {
		return failed, err
	}
	switch {
	case n.Op == "!":
		return f.truth(!o.isTrue()), nil
	case o.isFloat && n.Op == "-":
		return f.ofFloat(-o.float, o.of.Size), nil
	case o.isFloat && n.Op == "+":
		return f.ofFloat(o.float, o.of.Size), nil
	case o.isFloat || o.pointer != nil:
		return nil, fmt.Errorf("%s of %s", n.Op, v.Type())
	}
	t := common(o.of, o.of)
	switch n.Op {
	case "-":
		return f.ofInteger(-o.integer, t), nil
	case "~":
		return f.ofInteger(^o.integer, t), nil
	}
	return f.ofInteger(o.integer, t), nil
}

// Holds evaluates a condition: what is not zero holds. The error also says why the value is not known.
func (f *Frame) Holds(text string) (bool, error) {
	v, err := f.Evaluate(text)
	if err != nil {
		return false, err
	}
	o, failed, err := operandOf(v)
	if failed != nil {
		err = failed.Err()
	}
	return err == nil && o.isTrue(), err
}

func (o *operand) isTrue() bool {
	if o.isFloat {
		return o.float != 0
	}
	return o.integer != 0
}

func (o *operand) asFloat() float64 {
	switch {
	case o.isFloat:
		return o.float
	case o.of.IsSigned():
		return float64(int64(o.integer))
	}
	return float64(o.integer)
}

func (e *evaluator) binary(n expr.Binary) (*Value, error) {
	va, err := e.eval(n.A)
	if err != nil {
		return nil, err
	}
	if isText := func(n expr.Node) bool { _, ok := n.(expr.Text); return ok }; isText(n.A) || isText(n.B) {
		return e.texts(n, va)
	}
	a, failed, err := operandOf(va)
	if failed != nil || err != nil {
		return failed, err
	}
	f := e.frame
	if n.Op == "&&" && !a.isTrue() || n.Op == "||" && a.isTrue() {
		return f.truth(n.Op == "||"), nil
	}
	vb, err := e.eval(n.B)
	if err != nil {
		return nil, err
	}
	b, failed, err := operandOf(vb)
	if failed != nil || err != nil {
		return failed, err
	}
	switch {
	case n.Op == "&&" || n.Op == "||":
		return f.truth(b.isTrue()), nil
	case a.pointer != nil || b.pointer != nil:
		return f.pointers(n.Op, a, b)
	case a.isFloat || b.isFloat:
		return f.floats(n.Op, a.asFloat(), b.asFloat(), floatSize(a, b))
	}
	return f.integers(n.Op, a, b)
}

var errZero = errors.New("a division by 0")

func (f *Frame) floats(op string, a, b float64, size int64) (*Value, error) {
	switch op {
	case "+":
		return f.ofFloat(a+b, size), nil
	case "-":
		return f.ofFloat(a-b, size), nil
	case "*":
		return f.ofFloat(a*b, size), nil
	case "/":
		return f.ofFloat(a/b, size), nil
	}
	if a != a || b != b {
		return f.truth(op == "!="), nil
	}
	holds, ok := compared(op, a < b, a == b)
	if !ok {
		return nil, fmt.Errorf("%s of numbers of floating point", op)
	}
	return f.truth(holds), nil
}

// compared says whether a comparison holds.
func compared(op string, less, equal bool) (holds, ok bool) {
	switch op {
	case "==":
		return equal, true
	case "!=":
		return !equal, true
	case "<":
		return less, true
	case "<=":
		return less || equal, true
	case ">":
		return !less && !equal, true
	case ">=":
		return !less, true
	}
	return false, false
}

func (f *Frame) integers(op string, a, b operand) (*Value, error) {
	t := common(a.of, b.of)
	if op == "<<" || op == ">>" {
		t = common(a.of, a.of)
	}
	signed := t.IsSigned()
	x, y := narrow(a.integer, 8*t.Size, signed), narrow(b.integer, 8*t.Size, signed)
	less := x < y
	if signed {
		less = int64(x) < int64(y)
	}
	if holds, ok := compared(op, less, x == y); ok {
		return f.truth(holds), nil
	}
	var out uint64
	switch op {
	case "+":
		out = x + y
	case "-":
		out = x - y
	case "*":
		out = x * y
	case "/", "%":
		if y == 0 {
			return nil, errZero
		}
		switch {
		case signed && int64(y) == -1 && op == "/":
			out = -x
		case signed && int64(y) == -1:
			out = 0
		case signed && op == "/":
			out = uint64(int64(x) / int64(y))
		case signed:
			out = uint64(int64(x) % int64(y))
		case op == "/":
			out = x / y
		default:
			out = x % y
		}
	case "&":
		out = x & y
	case "|":
		out = x | y
	case "^":
		out = x ^ y
	case "<<", ">>":
		if b.integer >= uint64(8*t.Size) {
			return nil, errors.New("a shift by more bits than the number has")
		}
		switch {
		case op == "<<":
			out = x << b.integer
		case signed:
			out = uint64(int64(x) >> b.integer)
		default:
			out = x >> b.integer
		}
	default:
		return nil, fmt.Errorf("%s is not supported", op)
	}
	return f.ofInteger(out, t), nil
}

// pointers computes with addresses.
func (f *Frame) pointers(op string, a, b operand) (*Value, error) {
	if holds, ok := compared(op, a.integer < b.integer, a.integer == b.integer); ok {
		return f.truth(holds), nil
	}
	if b.pointer != nil && a.pointer == nil && op == "+" {
		a, b = b, a
	}
	if a.pointer == nil || b.isFloat {
		return nil, fmt.Errorf("%s of a pointer", op)
	}
	size, err := a.pointer.Bytes()
	if err != nil {
		return nil, err
	}
	switch {
	case op == "-" && b.pointer != nil && size > 0:
		return f.ofInteger(uint64(int64(a.integer-b.integer)/size), indexType), nil
	case (op == "+" || op == "-") && b.pointer == nil:
		by := b.integer * uint64(size)
		if op == "-" {
			by = -by
		}
		return f.valueOf(wordOf(a.integer+by), types.PointerTo(a.pointer, int64(f.stack.Arch.PointerSize()))), nil
	}
	return nil, fmt.Errorf("%s of a pointer", op)
}

// builtin are types that need no DWARF.
var builtin = map[string]*types.Type{
	"char": charType, "bool": boolType, "_Bool": boolType, "void": types.VoidType,
	"double": doubleType, "f64": doubleType, "float": floatType, "f32": floatType,
}

func init() {
	add := func(size int64, encoding int, names ...string) {
		for _, name := range names {
			builtin[name] = types.Number(names[0], size, encoding)
		}
	}
	const s, u = types.EncodingSigned, types.EncodingUnsigned
	add(1, types.EncodingSignedChar, "signed char")
	add(1, types.EncodingUnsignedChr, "unsigned char")
	add(2, s, "short", "short int", "signed short", "i16")
	add(2, u, "unsigned short", "unsigned short int", "u16")
	add(4, s, "int", "signed", "signed int", "i32")
	add(4, u, "unsigned int", "unsigned", "u32")
	add(8, s, "long", "long int", "signed long", "long long", "long long int", "i64", "isize")
	add(8, u, "unsigned long", "unsigned long int", "long unsigned int", "long unsigned", "unsigned long long", "u64", "usize")
	add(1, s, "int8_t", "i8")
	add(1, u, "uint8_t", "u8")
	add(2, s, "int16_t")
	add(2, u, "uint16_t")
	add(4, s, "int32_t")
	add(4, u, "uint32_t")
	add(8, s, "int64_t", "ssize_t", "intptr_t", "ptrdiff_t")
	add(8, u, "uint64_t", "size_t", "uintptr_t")
}

// isType says whether a name in brackets is a type's: variables come first.
func (e *evaluator) isType(name string) bool {
	if name == "this" || name == "sizeof" {
		return false
	}
	if e.object != nil {
		if isOwnType(name) {
			return true
		}
		if v, err := memberOf(e.object, name); v != nil && err == nil {
			return false
		}
	} else if v, err := e.frame.local(name); v != nil || err != nil {
		return false
	}
	t, err := e.find(name)
	_, several := errors.AsType[*AmbiguousError](err)
	return err == nil && t != nil || several
}

// find finds a type by its name: C's own, of this file, of others.
func (e *evaluator) find(name string) (*types.Type, error) {
	if t, ok := e.known[name]; ok {
		return t, nil
	}
	if e.object != nil && isOwnType(name) {
		return nil, nil
	}
	if t, ok := builtin[name]; ok {
		return t, nil
	}
	f := e.frame
	w := f.wants(name)
	if e.exact { // as a symbol has it
		w.full, w.parts = []string{name}, nil
	}
	in := strings.Join(w.full, " ")
	if f.function != nil {
		if unit, err := f.function.Unit(); err == nil {
			in = unit.String() + " " + in
		}
	}
	t, ok := f.stack.named[in]
	if !ok {
		var err error
		if t, err = f.typeNamed(w); err != nil {
			return nil, err
		}
		if f.stack.named == nil {
			f.stack.named = make(map[string]*types.Type)
		}
		f.stack.named[in] = t
	}
	return t, nil
}

func (e *evaluator) typeNamed(n expr.Type) (*types.Type, error) {
	t, err := e.find(n.Name)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, fmt.Errorf("there is no type %s", n.Name)
	}
	if t.Incomplete {
		t = e.frame.complete(t)
	}
	for range n.Pointers {
		t = types.PointerTo(t, int64(e.frame.stack.Arch.PointerSize()))
	}
	return t, nil
}
