package values

import (
	"errors"
	"fmt"
	"unicode/utf16"

	"github.com/clewdbg/clew/server/values/show"
	"github.com/clewdbg/clew/server/values/types"
)

// holdsElements says whether the container has elements, and not one value.
func (c *container) holdsElements() bool {
	switch c.by.Kind {
	case show.Slice, show.Range, show.Each, show.List, show.Tree, show.BTree, show.Tuple:
		return true
	}
	return false
}

func (c *container) counts() Count {
	switch {
	case c.by.Kind == show.Text:
		return Count{Named: 1}
	case c.holdsElements():
		return Count{Named: 1, Indexed: int(min(c.count, maxIndexed))}
	case c.one != nil:
		return Count{Named: 2}
	}
	return Count{Named: 1}
}

// named are what has a name: the value that it holds, and the value as it lies in memory.
func (c *container) named() (out []*Value) {
	if !c.holdsElements() && c.by.Kind != show.Text && c.one != nil {
		one := *c.one
		one.Name = "value"
		if c.by.Kind == show.Pointer {
			one.Name = "pointer"
		}
		out = append(out, &one)
	}
	raw := *c.value
	raw.raw, raw.Name, raw.holds = true, "[raw]", nil
	return append(out, &raw)
}

func (c *container) indexed(start, count int) (out []*Value) {
	v := c.value
	if !c.holdsElements() {
		return nil
	}
	defer v.frame.stack.budget()()
	if c.one != nil {
		out = c.one.Indexed(start, count)
		for _, e := range out {
			if v.Path != "" {
				e.Path = wrap(v.Path) + e.Name
			}
		}
		return out
	}
	for i := max(start, 0); i < min(start+count, int(min(c.count, maxIndexed))); i++ {
		one := c.at(int64(i))
		out = append(out, one)
		if one.err != nil && c.by.Kind != show.Tuple {
			break
		}
	}
	return out
}

// at returns an element of those that do not lie one behind the other.
func (c *container) at(i int64) (out *Value) {
	v, name := c.value, fmt.Sprintf("[%d]", i)
	defer func() {
		out.Name, out.Path = name, ""
		if v.Path != "" {
			out.Path = fmt.Sprintf("%s[%d]", wrap(v.Path), i)
		}
	}()
	at := place{v, i}
	switch {
	case c.by.Kind == show.Each && c.by.If == "":
	case i < int64(len(c.places)):
		at = c.places[i]
	case c.err != nil:
		return v.frame.unknown(name, c.err)
	default:
		return v.frame.unknown(name, fmt.Errorf("more than %d nodes are not followed", maxNodes))
	}
	if c.by.Kind == show.Tuple {
		one := *at.in
		return &one
	}
	if c.by.Item == "" {
		start, _ := at.in.Address()
		return v.frame.inMemory(name, start+uint64(c.behind), c.of)
	}
	if c.by.Key != "" {
		key, err := c.eval(c.by.Key, at.in, at.index)
		if err != nil {
			return v.frame.unknown(name, err)
		}
		name = "[" + key.Text() + "]"
	}
	item, err := c.eval(c.by.Item, at.in, at.index)
	if err != nil {
		return v.frame.unknown(name, err)
	}
	one := *item
	one.keyed = c.by.Key != ""
	return &one
}

// write writes what the container holds.
func (c *container) write(w *writer, deeper int) {
	switch {
	case c.by.Kind == show.Text:
		text, n, err := c.characters()
		if err != nil {
			w.WriteString(Unknown(err))
			return
		}
		w.WriteString(quoteAll(text, n > int64(len(text))))
	case c.holdsElements() && deeper == 0:
		w.WriteString("{…}")
	case c.holdsElements():
		if c.by.Kind != show.Tuple {
			fmt.Fprintf(w, "%d elements ", c.count)
		}
		w.elements(c.value, int(min(c.count, maxIndexed)), deeper)
	case c.by.Kind == show.Optional && c.one == nil:
		w.WriteString("none")
	case c.by.Kind == show.Optional:
		w.WriteString("some ")
		w.value(c.one, max(deeper-1, 0))
	default: // it stands for the other
		w.value(c.one, deeper)
		w.WriteString(c.by.Unit)
	}
}

// characters are those of a text, of UTF-8, UTF-16 or UTF-32 by their size; n counts its units.
func (c *container) characters() (text string, n int64, err error) {
	size, err := c.of.Bytes()
	if err != nil {
		return "", 0, err
	}
	data, err := c.one.read(min(c.count, maxString) * size)
	if err != nil || size == 1 {
		return string(data), c.count, err
	}
	var out []rune
	switch size {
	case 2:
		units := make([]uint16, 0, len(data)/2)
		for i := 0; i < len(data); i += 2 {
			units = append(units, c.value.frame.Order().Uint16(data[i:]))
		}
		out = utf16.Decode(units)
	case 4:
		for i := 0; i < len(data); i += 4 {
			out = append(out, rune(c.value.frame.Order().Uint32(data[i:])))
		}
	default:
		return "", 0, fmt.Errorf("characters of %d bytes", size)
	}
	text = string(out)
	if c.count <= maxString {
		return text, int64(len(text)), nil
	}
	return text, max(c.count, int64(len(text))+1), nil
}

func (c *container) shape() Shape {
	switch {
	case c.by.Kind == show.Text:
		return Text
	case c.holdsElements():
		return Elements
	}
	return Other
}

// method is what the container says of itself, by the name that programs call it by; nil for other names.
func (c *container) method(name string) (*Value, error) {
	f := c.value.frame
	many := c.holdsElements() || c.by.Kind == show.Text
	at := func(i int64) (*Value, error) {
		if c.count == 0 {
			return nil, errors.New("it has no elements")
		}
		if out := c.indexed(int(i), 1); len(out) == 1 {
			return out[0], nil
		}
		return nil, fmt.Errorf("there is no element %d", i)
	}
	switch name {
	case "size", "len", "length":
		if many {
			return f.valueOf(wordOf(uint64(c.count)), wordType), nil
		}
	case "empty", "is_empty":
		if many {
			return f.truth(c.count == 0), nil
		}
	case "front":
		if c.holdsElements() {
			return at(0)
		}
	case "back":
		if c.holdsElements() {
			return at(c.count - 1)
		}
	case "get":
		if c.by.Kind == show.Pointer {
			return c.one, nil
		}
	case "has_value":
		if c.by.Kind == show.Optional {
			return f.truth(c.one != nil), nil
		}
	case "value":
		if c.by.Kind == show.Optional && c.one == nil {
			return nil, errNone
		}
		if c.by.Kind == show.Optional {
			return c.one, nil
		}
	case "c_str", "data":
		if addr, ok := c.one.address(); ok && many {
			return f.valueOf(wordOf(addr), types.PointerTo(c.of, int64(f.stack.Arch.PointerSize()))), nil
		}
	}
	if c.by.Kind == show.Same {
		return c.one.method(name)
	}
	return nil, nil
}

var errNone = errors.New("it holds no value")

// address is where the value lies, if there is one that lies in memory.
func (v *Value) address() (uint64, bool) {
	if v == nil {
		return 0, false
	}
	return v.Address()
}
