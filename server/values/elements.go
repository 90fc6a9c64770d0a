package values

import (
	"fmt"

	"github.com/clewdbg/clew/server/values/expr"
	"github.com/clewdbg/clew/server/values/show"
	"github.com/clewdbg/clew/server/values/types"
)

func (e *evaluator) integer(n expr.Node) (int64, *Value, error) {
	v, err := e.eval(n)
	if err != nil {
		return 0, nil, err
	}
	v = plain(v)
	if v.err != nil {
		return 0, v, nil
	}
	u, err := v.under()
	if err != nil {
		return 0, v, nil
	}
	if !u.IsInteger() && u.Kind != types.Enum {
		return 0, nil, fmt.Errorf("an index of type %s", v.Type())
	}
	word, err := v.word()
	if err != nil {
		v.err = err
		return 0, v, nil
	}
	return int64(word), nil, nil
}

func (e *evaluator) index(n expr.Index) (*Value, error) {
	of, err := e.eval(n.Of)
	if err != nil {
		return nil, err
	}
	of = plain(of)
	if key, ok := n.At.(expr.Text); ok {
		return of.atKey(key.Text)
	}
	i, failed, err := e.integer(n.At)
	if failed != nil || err != nil {
		return failed, err
	}
	if u, err := of.under(); err == nil && u.Kind == types.Pointer && rust[u.Language] && e.object == nil {
		of = plain(of.Follow()) // Rust's references stand for what they refer to
	}
	if n.Upto != nil {
		return e.slice(of, i, n.Upto)
	}
	return e.elementOf(of, i)
}

// elementOf returns an element of an array or a container, or of what a pointer points to.
func (e *evaluator) elementOf(of *Value, i int64) (*Value, error) {
	for range maxHops {
		c := of.container()
		if c == nil {
			break
		}
		if count := c.counts().Indexed; count > 0 {
			if i < 0 || i >= int64(count) {
				return nil, fmt.Errorf("index %d of %d elements", i, count)
			}
			return c.indexed(int(i), 1)[0], nil
		}
		if c.one == nil || c.by.Kind != show.Text && c.by.Kind != show.Same && c.by.Kind != show.Pointer {
			break
		}
		of = plain(c.one)
	}
	u, err := of.under()
	if err != nil {
		return of, nil
	}
	switch u.Kind {
	case types.Array:
		count, err := of.length(u)
		low := u.Dimension().Lower
		if err == nil && (u.Dimension().Count != types.Unknown || u.Dimension().Bound != nil) && (i < low || i-low >= count) {
			return nil, fmt.Errorf("index %d of %d elements", i, count)
		}
		return of.element(u, i-low), nil
	case types.Pointer:
		return of.pointed(u, i)
	}
	return nil, fmt.Errorf("%s has no elements", of.Type())
}

// pointed returns what lies i values behind what a pointer points to.
func (v *Value) pointed(u *types.Type, i int64) (*Value, error) {
	to, err := u.Target()
	if err != nil {
		return nil, err
	}
	if to.Incomplete {
		to = v.frame.complete(to)
	}
	size, err := to.Bytes()
	if err != nil {
		return nil, err
	}
	addr, err := v.word()
	if err != nil {
		return v.frame.unknown("", err), nil
	}
	out := v.frame.inMemory("", addr+uint64(i*size), to)
	if v.Path != "" {
		out.Path = fmt.Sprintf("%s[%d]", wrap(v.Path), i)
	}
	return out, nil
}

// slice returns elements as an array.
func (e *evaluator) slice(of *Value, from int64, upto expr.Node) (*Value, error) {
	to, failed, err := e.integer(upto)
	if failed != nil || err != nil {
		return failed, err
	}
	if to < from || to-from > 1<<20 {
		return nil, fmt.Errorf("elements from %d up to %d", from, to)
	}
	if c := of.container(); c != nil && c.one != nil && c.by.Kind != show.Optional {
		of = c.one
	}
	u, err := of.under()
	if err != nil {
		return of, nil
	}
	var first *Value
	var element *types.Type
	switch u.Kind {
	case types.Pointer:
		if first, err = of.pointed(u, from); err == nil {
			element, err = u.Target()
		}
	case types.Array:
		if element, err = u.Element(); err == nil {
			count, failed := of.length(u)
			if failed == nil && u.Dimension().Count != types.Unknown && (from < 0 || to > count) {
				return nil, fmt.Errorf("elements from %d up to %d, of %d", from, to, count)
			}
			first = of.element(u, from)
		}
	default:
		return nil, fmt.Errorf("%s has no elements", of.Type())
	}
	if err != nil {
		return nil, err
	}
	first.typ, first.Path = types.ArrayOf(element, to-from), ""
	return first, nil
}

// atKey returns what a map holds for a key that is a text.
func (v *Value) atKey(key string) (*Value, error) {
	c := v.container()
	if c == nil || !c.holdsElements() {
		return nil, fmt.Errorf("%s has no keys", v.Type())
	}
	for i := range min(c.count, maxNodes) {
		of := c.at(i)
		if of.keyed {
			k, err := c.eval(c.by.Key, c.places[i].in, c.places[i].index)
			if err != nil {
				return nil, err
			}
			if text, cut, failed, err := k.text(); err == nil && failed == nil && !cut && text == key {
				return of, nil
			}
			continue
		}
		first, second := of.Find("first"), of.Find("second")
		if of.container() != nil {
			if in := of.pointee(); in != nil {
				first, second = in.Find("first"), in.Find("second")
			}
		}
		if first == nil || second == nil {
			return nil, fmt.Errorf("%s has no keys", v.Type())
		}
		if text, cut, failed, err := first.text(); err == nil && failed == nil && !cut && text == key {
			return second, nil
		}
	}
	return nil, fmt.Errorf("%s has no element of the key %q", v.Name, key)
}
