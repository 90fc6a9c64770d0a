package values

import (
	"errors"
	"fmt"
	"slices"

	"github.com/clewdbg/clew/server/values/location"
	"github.com/clewdbg/clew/server/values/types"
)

// Count is how many children a value has: elements of an array have indexes, others have names.
type Count struct{ Named, Indexed int }

// maxIndexed bounds the elements that are counted.
const maxIndexed = 1 << 30

// Counts counts the value's children. Nothing is counted of a value that is not known.
func (v *Value) Counts() Count {
	if c := v.container(); c != nil {
		return c.counts()
	}
	u, err := v.under()
	if err != nil {
		return Count{}
	}
	switch u.Kind {
	case types.Array:
		n, err := v.length(u)
		if err != nil {
			return Count{}
		}
		return Count{Indexed: int(min(n, maxIndexed))}
	case types.Struct, types.Union:
		n := len(v.own(u))
		if v.traitObject() != nil {
			n++
		}
		return Count{Named: n}
	case types.Pointer, types.Reference:
		if v.pointsTo() != nil {
			return Count{Named: 1}
		}
	}
	return Count{}
}

// Named returns the children that have names.
func (v *Value) Named() []*Value {
	if c := v.container(); c != nil {
		return c.named()
	}
	u, err := v.under()
	if err != nil {
		return nil
	}
	switch u.Kind {
	case types.Struct, types.Union:
		out := v.own(u)
		if to := v.traitObject(); to != nil {
			to.Name = "*" + v.Name
			out = append(out, to)
		}
		return out
	case types.Pointer, types.Reference:
		if to := v.pointsTo(); to != nil {
			if u.Kind == types.Pointer {
				to.Name = "*" + v.Name
			} else {
				to.Name = "&" + v.Name
			}
			return []*Value{to}
		}
	}
	return nil
}

// Indexed returns count elements of an array or container, from start on.
func (v *Value) Indexed(start, count int) (out []*Value) {
	if c := v.container(); c != nil {
		return c.indexed(start, count)
	}
	u, err := v.under()
	if err != nil || u.Kind != types.Array || start < 0 {
		return nil
	}
	n, err := v.length(u)
	if err != nil {
		return nil
	}
	for i := int64(start); i < min(n, int64(start)+int64(count)); i++ {
		out = append(out, v.element(u, i))
	}
	return out
}

// pointsTo returns what a pointer shows as its child, nil for those that point to nothing that has a value.
func (v *Value) pointsTo() *Value {
	u, err := v.under()
	if err != nil {
		return nil
	}
	to, err := u.Target()
	if err != nil {
		return nil
	}
	if t, err := to.Under(); err != nil || t.Kind == types.Void || t.Kind == types.Function || t.Incomplete && v.frame.complete(t).Incomplete {
		return nil
	}
	out := v.Follow()
	if out.err == nil {
		if addr, ok := out.Address(); ok && (addr == 0 || v.frame.ReadMemory(addr, make([]byte, 1)) != nil) {
			return nil
		}
	}
	return out.dynamic()
}

// length is how many elements an array has: decided at run time, perhaps.
func (v *Value) length(u *types.Type) (int64, error) {
	d := u.Dimension()
	if d.Count != types.Unknown {
		return d.Count, nil
	}
	if d.Bound == nil {
		if u.Size >= 0 { // of a type that has a size, and no bound
			if stride, err := u.Stride(); err == nil && stride > 0 {
				return u.Size / stride, nil
			}
		}
		return 0, nil // a flexible member: as many as the program says elsewhere
	}
	n, err := v.frame.bound(d)
	if err != nil {
		return 0, err
	}
	if d.Upper {
		n = n - d.Lower + 1
	}
	if n < 0 {
		n = 0
	}
	return n, nil
}

// bound evaluates a bound of an array that is decided at run time: an expression, or another variable.
func (f *Frame) bound(d types.Dimension) (int64, error) {
	code, ok, err := d.Bound.Block(d.Attr)
	switch {
	case err != nil:
		return 0, err
	case ok:
		n, err := location.Value(f, d.Bound, code)
		return int64(n), err
	}
	to, err := d.Bound.Refers(d.Attr)
	if err != nil {
		return 0, err
	}
	if to == nil {
		return 0, errors.New("the array's bound has an unknown form")
	}
	v := f.variable(&declared{entry: f.instance(to)})
	n, err := v.word()
	return int64(n), err
}

// element returns an element of an array.
func (v *Value) element(u *types.Type, i int64) *Value {
	name := fmt.Sprintf("[%d]", i+u.Dimension().Lower)
	stride, err := v.stride(u)
	if err != nil {
		return v.frame.unknown(name, err)
	}
	of, err := u.Element()
	if err != nil {
		return v.frame.unknown(name, err)
	}
	if stride != 0 && i > (1<<62)/stride {
		return v.frame.unknown(name, errors.New("it lies beyond the address space"))
	}
	out := v.at(name, i*stride, of)
	if v.Path != "" {
		out.Path = wrap(v.Path) + name
	}
	return out
}

// stride is the distance of an array's elements; of an array of arrays whose size is decided at run time, too.
func (v *Value) stride(u *types.Type) (int64, error) {
	stride, err := u.Stride()
	if err == nil {
		return stride, nil
	}
	of, failed := u.Element()
	if failed != nil {
		return 0, failed
	}
	inner, failed := of.Under()
	if failed != nil || inner.Kind != types.Array {
		return 0, err
	}
	n, failed := v.length(inner)
	if failed != nil {
		return 0, failed
	}
	each, failed := v.stride(inner)
	if failed != nil {
		return 0, failed
	}
	if each != 0 && n > (1<<40)/each {
		return 0, errors.New("the array's elements are too large")
	}
	return n * each, nil
}

// fields are the members of a structure: the bases first, and the variant that it has.
func (v *Value) fields(u *types.Type) (out []*Value) {
	members, more, err := u.Members()
	if err != nil {
		return []*Value{v.frame.unknown("…", err)}
	}
	for i := range members {
		out = append(out, v.member(&members[i]))
	}
	if more {
		out = append(out, v.frame.unknown("…", errors.New("there are more members")))
	}
	parts, err := u.Variants()
	if err != nil {
		return append(out, v.frame.unknown("…", err))
	}
	for i := range parts {
		chosen, err := v.variant(&parts[i])
		if err != nil {
			out = append(out, v.frame.unknown("…", err))
			continue
		}
		for k := range chosen.Members {
			out = append(out, v.member(&chosen.Members[k]))
		}
	}
	return out
}

var errNoVariant = errors.New("it is none of the variants that its type has")

// variant finds the variant that a value has.
func (v *Value) variant(part *types.VariantPart) (*types.Variant, error) {
	if part.Discriminant == nil {
		if len(part.Variants) == 1 {
			return &part.Variants[0], nil
		}
		return nil, errNoVariant
	}
	d := v.member(part.Discriminant)
	size, err := part.Discriminant.Type.Bytes()
	if err != nil {
		return nil, err
	}
	n, wide := uint64(0), false
	if size == 16 { // of 128 bits: variants have values of 64
		data, err := d.read(size)
		if err != nil {
			return nil, err
		}
		n, wide = d.frame.Order().Uint64(data), d.frame.Order().Uint64(data[8:]) != 0
	} else if n, err = d.word(); err != nil {
		return nil, err
	}
	var fallback *types.Variant
	for i := range part.Variants {
		one := &part.Variants[i]
		if !wide && one.Has(n, size) {
			return one, nil
		}
		if one.Default {
			fallback = one
		}
	}
	if fallback == nil {
		return nil, errNoVariant
	}
	return fallback, nil
}

// member returns a member of a structure.
func (v *Value) member(m *types.Member) *Value {
	name := m.Name
	if m.Base {
		name = m.Type.String()
	}
	switch {
	case m.Err() != nil:
		return v.frame.unknown(name, m.Err())
	case v.err != nil:
		return v.frame.unknown(name, v.err)
	case m.Static != nil:
		return &Value{Name: name, frame: v.frame, typ: m.Type, static: m, err: errStatic}
	}
	off := m.Offset
	if m.Place != nil {
		n, err := v.placeOf(m)
		if err != nil {
			return v.frame.unknown(name, err)
		}
		off = n
	}
	out := v.at(name, off, m.Type)
	out.bits, out.shift, out.base, out.virtual = m.Bits, m.BitOffset, m.Base, m.Virtual
	switch {
	case v.Path == "":
	case m.Base || name == "":
		out.Path = v.Path // a member of it is one of the whole
	default:
		out.Path = wrap(v.Path) + "." + name
	}
	return out
}

// placeOf evaluates a member's place, as that of a virtual base: the object's address is on the stack.
func (v *Value) placeOf(m *types.Member) (int64, error) {
	addr, ok := v.Address()
	if !ok {
		return 0, errors.New("its place in the object is decided at run time, and the object is not in memory")
	}
	f := *v.frame
	f.object = &addr
	to, err := location.Value(&f, m.Entry(), m.Place, addr)
	return int64(to - addr), err
}

// static returns a static member, which lies outside of the object.
func (f *Frame) static(name string, m *types.Member) *Value {
	out := &Value{Name: name, frame: f, typ: m.Type}
	f.place(out, m.Static)
	return out
}

var errStatic = errors.New("it lies outside of the object")

// own are the members that lie in a structure.
func (v *Value) own(u *types.Type) []*Value {
	return slices.DeleteFunc(v.fields(u), func(f *Value) bool { return f.static != nil })
}

// wrap puts an expression that begins with an operator into brackets.
func wrap(path string) string {
	if path != "" && (path[0] == '*' || path[0] == '&' || path[0] == '(') {
		return "(" + path + ")"
	}
	return path
}
