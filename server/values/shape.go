package values

import (
	"github.com/clewdbg/clew/server/values/types"
)

// Shape is what a value looks like to a client that has kinds of values of its own.
type Shape uint8

// The shapes of values.
const (
	Other Shape = iota // its text says all
	Integer
	Natural // an integer without sign
	Truth
	Float
	Text // characters
	Pointer
	Reference
	Fields
	Elements
)

// Shape returns the value's.
func (v *Value) Shape() Shape {
	u, err := v.under()
	if err != nil {
		return Other
	}
	if c := v.container(); c != nil {
		return c.shape()
	}
	switch u.Kind {
	case types.Struct, types.Union:
		return Fields
	case types.Array:
		if isText(u) {
			return Text
		}
		return Elements
	case types.Reference:
		return Reference
	case types.Pointer:
		if to, err := u.Target(); err == nil {
			if t, err := to.Under(); err == nil && t.Kind == types.Function {
				return Other
			}
		}
		return Pointer
	case types.Base:
		switch {
		case u.IsCharacter():
			return Other
		case u.Encoding == types.EncodingFloat:
			return Float
		case u.Encoding == types.EncodingBoolean:
			return Truth
		case u.IsSigned():
			return Integer
		case u.IsInteger():
			return Natural
		}
	}
	return Other
}

// isText says whether an array's elements are characters of one byte.
func isText(u *types.Type) bool {
	of, err := u.Element()
	if err != nil {
		return false
	}
	c, err := of.Under()
	return err == nil && c.IsCharacter() && c.Size == 1
}

// RealType is the type without typedefs and qualifiers.
func (v *Value) RealType() string {
	u, err := v.under()
	if err != nil {
		return v.Type()
	}
	return u.String()
}

// Characters are those of a value of shape [Text], cut where they are many, and how many there are.
func (v *Value) Characters() (text string, n int64, err error) {
	if c := v.container(); c != nil {
		return c.characters()
	}
	u, err := v.under()
	if err != nil {
		return "", 0, err
	}
	if n, err = v.length(u); err != nil {
		return "", 0, err
	}
	data, err := v.read(min(n, maxString))
	if err != nil {
		return "", 0, err
	}
	if n <= maxString {
		for len(data) > 0 && data[len(data)-1] == 0 {
			data = data[:len(data)-1]
		}
		n = int64(len(data))
	}
	return string(data), n, nil
}

// PointedText is the string that a pointer to characters points to.
func (v *Value) PointedText() (text string, n int64, ok bool) {
	u, err := v.under()
	if err != nil || u.Kind != types.Pointer || rust[u.Language] {
		return "", 0, false
	}
	to, err := u.Target()
	if err != nil {
		return "", 0, false
	}
	t, err := to.Under()
	if err != nil || !t.IsCharacter() || t.Size != 1 {
		return "", 0, false
	}
	addr, err := v.word()
	if err != nil || addr == 0 {
		return "", 0, false
	}
	data, whole, ok := v.frame.bytesAt(addr)
	n = int64(len(data))
	if !whole {
		n++
	}
	return string(data), n, ok
}
