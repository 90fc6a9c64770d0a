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

func (e *evaluator) cast(n expr.Cast) (*Value, error) {
	to, err := e.typeNamed(n.To)
	if err != nil {
		return nil, err
	}
	v, err := e.eval(n.Of)
	if err != nil {
		return nil, err
	}
	if n.To.Reference {
		return e.castReference(n, v, to)
	}
	u, err := to.Under()
	if err != nil {
		return nil, err
	}
	if n.How == "dynamic_cast" && (u.Kind != types.Pointer || n.To.Pointers != 1) {
		return nil, errors.New("dynamic_cast is for pointers and references to classes")
	}
	if u.Kind == types.Pointer && n.How != "reinterpret_cast" && e.object == nil {
		if out, err := e.castClass(v, u, n.How == "dynamic_cast"); out != nil || err != nil {
			return out, err
		}
	}
	o, failed, err := operandOf(v)
	if failed != nil || err != nil {
		return failed, err
	}
	size, err := u.Bytes()
	if err != nil {
		return nil, err
	}
	switch {
	case u.Kind == types.Base && u.Encoding == types.EncodingFloat && size == 8:
		return e.frame.valueOf(wordOf(math.Float64bits(o.asFloat())), to), nil
	case u.Kind == types.Base && u.Encoding == types.EncodingFloat && size == 4:
		return e.frame.valueOf(wordOf(uint64(math.Float32bits(float32(o.asFloat()))))[:4], to), nil
	case size > 8 || size == 0 || !u.IsInteger() && u.Kind != types.Enum && u.Kind != types.Pointer:
		return nil, fmt.Errorf("no cast to %s", to)
	case o.isFloat && o.float != o.float:
		return nil, errors.New("nan is no integer")
	case u.Kind == types.Base && u.Encoding == types.EncodingBoolean:
		return e.frame.truth(o.isTrue()), nil
	case o.isFloat:
		if o.integer, err = whole(o.float, 8*size, u.IsSigned()); err != nil {
			return nil, err
		}
	}
	return e.frame.valueOf(wordOf(o.integer)[:size], to), nil
}

// whole converts a number of floating point to an integer, which must have room for it: C does not say what it is otherwise.
func whole(f float64, bits int64, signed bool) (uint64, error) {
	f = math.Trunc(f)
	low, high := 0.0, math.Ldexp(1, int(bits))
	if signed {
		low, high = -math.Ldexp(1, int(bits)-1), math.Ldexp(1, int(bits)-1)
	}
	switch {
	case f < low || f >= high:
		return 0, fmt.Errorf("%g has more than %d bits", f, bits)
	case f < 0:
		return uint64(int64(f)), nil
	}
	return uint64(f), nil
}

// castReference converts what lies in memory: (T &)x is *(T *)&x.
func (e *evaluator) castReference(n expr.Cast, v *Value, to *types.Type) (*Value, error) {
	v = plain(v)
	if v.err != nil {
		return v, nil
	}
	addr, ok := v.Address()
	if !ok {
		return nil, errors.New("it does not lie in memory, and no reference leads to it")
	}
	size := int64(e.frame.stack.Arch.PointerSize())
	p := e.frame.valueOf(wordOf(addr), types.PointerTo(v.typ, size))
	if n.How != "reinterpret_cast" {
		out, err := e.castClass(p, types.PointerTo(to, size), n.How == "dynamic_cast")
		if err != nil {
			return nil, err
		}
		if out != nil {
			return out.Follow(), nil
		}
	}
	return e.frame.inMemory("", addr, to), nil
}

var errVirtual = errors.New("the class is a virtual base of that: where the whole object begins is not known")

// castClass converts a pointer to a class into one to a base of it, or to a class that derives from it: the address is another where the base
// does not lie at the object's start. nil: the two have nothing to do with each other.
func (e *evaluator) castClass(v *Value, to *types.Type, checked bool) (*Value, error) {
	v = plain(v)
	u, err := v.under()
	if err != nil || u.Kind != types.Pointer {
		return nil, nil
	}
	a, failed := classOf(e.frame, u)
	b, err := classOf(e.frame, to)
	if failed != nil || err != nil || a == nil || b == nil || a == b || a.String() == b.String() {
		return nil, nil
	}
	object := v.Follow()
	addr, err := v.word()
	if err != nil {
		v.err = err
		return v, nil
	}
	up, down := derives(a, b, maxDerived), derives(b, a, maxDerived)
	if addr == 0 && (up || down) {
		return e.frame.valueOf(wordOf(0), to), nil
	}
	switch {
	case up:
		base, err := object.baseOf(b)
		if err != nil {
			return nil, err
		}
		return e.pointerTo(base, to)
	case down && !checked:
		within := e.frame.inMemory("", addr, b)
		base, err := within.baseOf(a)
		if err == nil && !base.virtual {
			at, _ := base.Address()
			return e.frame.valueOf(wordOf(addr-(at-addr)), to), nil
		}
		if err != nil && !errors.Is(err, errSeveral) {
			return nil, err
		}
	case !down && !checked:
		return nil, nil
	}
	// The object's table of virtual functions says what it is.
	whole := object.dynamic()
	if whole == object {
		return nil, errVirtual
	}
	base, err := whole.baseOf(b)
	switch {
	case err != nil && checked:
		return e.frame.valueOf(wordOf(0), to), nil
	case err != nil:
		return nil, err
	}
	return e.pointerTo(base, to)
}

// classOf is the class that a pointer points to, nil if it points to something else.
func classOf(f *Frame, u *types.Type) (*types.Type, error) {
	to, err := u.Target()
	if err != nil {
		return nil, err
	}
	c, err := to.Under()
	if err != nil || c.Kind != types.Struct {
		return nil, err
	}
	if c.Incomplete {
		c = f.complete(c)
	}
	return c, nil
}

func (e *evaluator) pointerTo(v *Value, t *types.Type) (*Value, error) {
	if v.err != nil {
		return v, nil
	}
	addr, ok := v.Address()
	if !ok {
		return nil, errors.New("the object does not lie in memory")
	}
	return e.frame.valueOf(wordOf(addr), t), nil
}

var errSeveral = errors.New("the class is a base of that several times")

// baseOf returns the part of an object that a class among its bases has; the object itself where it is of that class.
func (v *Value) baseOf(class *types.Type) (*Value, error) {
	u, err := v.under()
	if err != nil {
		return nil, err
	}
	name := class.String()
	if u == class || u.String() == name {
		return v, nil
	}
	var found *Value
	level := []*Value{v}
	for searched := 0; len(level) > 0 && searched < maxFound; searched++ {
		in := level[0]
		level = level[1:]
		t, err := in.under()
		if err != nil {
			return nil, err
		}
		for _, m := range in.fields(t) {
			switch {
			case !m.base:
				continue
			case m.typ.String() != name:
				m.virtual = m.virtual || in.virtual
				level = append(level, m)
				continue
			}
			m.virtual = m.virtual || in.virtual
			if found != nil {
				a, _ := found.Address()
				if b, ok := m.Address(); !ok || a != b {
					return nil, errSeveral
				}
				continue
			}
			found = m
		}
	}
	if found == nil {
		return nil, fmt.Errorf("%s is no base of %s", name, v.Type())
	}
	return found, found.err
}

// texts compares a text in quotation marks with characters.
func (e *evaluator) texts(n expr.Binary, a *Value) (*Value, error) {
	if n.Op != "==" && n.Op != "!=" {
		return nil, fmt.Errorf("%s of a text", n.Op)
	}
	b, err := e.eval(n.B)
	if err != nil {
		return nil, err
	}
	x, cut, failed, err := a.text()
	if failed != nil || err != nil {
		return failed, err
	}
	y, yCut, failed, err := b.text()
	if failed != nil || err != nil {
		return failed, err
	}
	if yCut {
		x, y, cut, yCut = y, x, yCut, cut
	}
	equal := x == y
	switch {
	case !cut:
	case yCut || len(y) >= len(x) && y[:len(x)] == x:
		return nil, fmt.Errorf("texts of more than %d characters are not compared", maxString)
	default: // it goes on
		equal = false
	}
	return e.frame.truth(equal == (n.Op == "==")), nil
}

// text reads the characters of an array, of what a pointer points to, or of a container, for a comparison; cut says that there are more.
func (v *Value) text() (text string, cut bool, failed *Value, err error) {
	v = plain(v)
	for range 4 {
		if c := v.container(); c == nil || c.by.Kind != show.Same {
			break
		}
		v = plain(v.pointee())
	}
	u, bad := v.under()
	switch {
	case bad != nil:
		return "", false, v, nil
	case v.container() == nil && u.Kind == types.Pointer:
		if _, bad := v.word(); bad != nil {
			return "", false, v.frame.unknown(v.Name, bad), nil
		}
		if text, n, ok := v.PointedText(); ok {
			return text, n > int64(len(text)), nil, nil
		}
	case v.Shape() == Text:
		text, n, bad := v.Characters()
		if bad != nil {
			return "", false, v.frame.unknown(v.Name, bad), nil
		}
		cut = n > int64(len(text))
		if i := strings.IndexByte(text, 0); i >= 0 && v.container() == nil { // up to its first zero
			text, cut = text[:i], false
		}
		return text, cut, nil, nil
	}
	return "", false, nil, fmt.Errorf("%s has no characters", v.Type())
}
