package values

import (
	"errors"
	"fmt"
	"strings"

	"github.com/clewdbg/clew/server/values/show"
	"github.com/clewdbg/clew/server/values/types"
)

// container is a value that is shown as what it holds.
type container struct {
	value *Value
	by    *show.Formatter
	count int64       // of elements
	of    *types.Type // an element's type

	nodes []uint64 // of lists and trees: where the elements are, as far as they were followed
	err   error    // behind the last
	one   *Value   // of what holds one value, or none
}

const (
	// maxNodes bounds the nodes that are followed.
	maxNodes = 4096
	// maxCounted is how many elements a container can claim: more are garbage, as of one that is not initialized.
	maxCounted = 1 << 32
)

var errGarbage = errors.New("it does not look initialized")

// container returns how a value is shown that holds others, nil if it is shown as it lies in memory: no formatter is for its
// type, it has not the members that the formatter names, or what they hold is no container.
func (v *Value) container() *container {
	if v.raw || v.err != nil {
		return nil
	}
	if v.looked {
		return v.holds
	}
	v.looked = true
	u, err := v.under()
	if err != nil || u.Kind != types.Struct || u.Own == "" {
		return nil
	}
	name := u.String()
	for i := range show.Builtin() {
		f := &show.Builtin()[i]
		if !f.Matches(name) {
			continue
		}
		c := &container{value: v, by: f}
		if c.read(u) == nil {
			v.holds = c
			return c
		}
	}
	return nil
}

// path returns a member by its path.
func (v *Value) path(path string) (*Value, error) {
	for _, name := range strings.Split(path, ".") {
		next := plain(v).Find(name)
		if next == nil {
			return nil, fmt.Errorf("it has no member %s", name)
		}
		v = next
	}
	return v, v.err
}

func (v *Value) wordAt(path string) (uint64, error) {
	m, err := v.path(path)
	if err != nil {
		return 0, err
	}
	return m.word()
}

// read reads what the container's members say.
func (c *container) read(u *types.Type) error {
	v, f := c.value, c.by
	for _, m := range f.Members() {
		if f.Kind == show.List && m == f.Next {
			continue // a member of the nodes
		}
		if _, err := v.path(m); err != nil {
			return err
		}
	}
	if err := c.element(u); err != nil {
		return err
	}
	switch f.Kind {
	case show.Text, show.Slice, show.Range:
		return c.contiguous()
	case show.List:
		return c.list()
	case show.Tree:
		return c.tree()
	case show.Optional:
		return c.optional()
	}
	one, err := v.path(f.Value)
	c.one = one
	return err
}

// element finds the type of the elements.
func (c *container) element(u *types.Type) (err error) {
	if c.by.Element == nil {
		return nil
	}
	of := u
	if c.by.Of != "" {
		m, err := c.value.path(c.by.Of)
		if err != nil {
			return err
		}
		if of, err = m.typ.Under(); err != nil {
			return err
		}
	}
	c.of, err = of.Parameter(*c.by.Element)
	return err
}

// contiguous reads where elements lie one behind the other.
func (c *container) contiguous() error {
	v, f := c.value, c.by
	at := f.Pointer
	if f.Kind == show.Range {
		at = f.First
	}
	p, err := v.path(at)
	if err != nil {
		return err
	}
	first, err := p.word()
	if err != nil {
		return err
	}
	if c.of == nil {
		u, err := p.typ.Under()
		if err != nil {
			return err
		}
		if c.of, err = u.Target(); err != nil {
			return err
		}
	}
	size, err := c.of.Bytes()
	if err != nil || size <= 0 {
		return errors.Join(err, errGarbage)
	}
	count := uint64(0)
	if f.Kind == show.Range {
		end, err := v.wordAt(f.End)
		if err != nil {
			return err
		}
		if end < first || (end-first)%uint64(size) != 0 {
			return errGarbage
		}
		count = (end - first) / uint64(size)
	} else if count, err = v.wordAt(f.Count); err != nil {
		return err
	}
	if count > maxCounted || (count > 0 || first != 0) && v.frame.ReadMemory(first, make([]byte, 1)) != nil {
		return errGarbage
	}
	if last := first + count*uint64(size) - 1; count > 0 && v.frame.ReadMemory(last, make([]byte, 1)) != nil {
		return errGarbage
	}
	c.count = int64(count)
	c.one = v.frame.inMemory("", first, types.ArrayOf(c.of, c.count))
	c.one.Path = ""
	return nil
}

// align rounds an offset up to a type's alignment: that of its largest number.
func align(off int64, t *types.Type) int64 {
	budget := maxMeasured
	a := alignment(t, &budget)
	return (off + a - 1) / a * a
}

// maxMeasured bounds the types that an alignment follows from.
const maxMeasured = 1 << 12

func alignment(t *types.Type, budget *int) int64 {
	u, err := t.Under()
	if *budget--; err != nil || *budget < 0 {
		return 8
	}
	switch u.Kind {
	case types.Base:
		if u.Encoding == types.EncodingComplex {
			return max(u.Size/2, 1)
		}
		return max(min(u.Size, 16), 1)
	case types.Array:
		if e, err := u.Element(); err == nil {
			return alignment(e, budget)
		}
	case types.Struct, types.Union:
		most := int64(1)
		members, _, err := u.Members()
		if err != nil {
			return 8
		}
		for i := range members {
			if members[i].Static == nil && members[i].Type != nil {
				most = max(most, alignment(members[i].Type, budget))
			}
		}
		return most
	}
	if n, err := u.Bytes(); err == nil && n > 0 && n <= 16 && n&(n-1) == 0 {
		return n
	}
	return 8
}

// list follows nodes: the element lies behind the node's pointers.
func (c *container) list() error {
	v, f := c.value, c.by
	head, err := v.path(f.Head)
	if err != nil {
		return err
	}
	start, ok := head.Address()
	u, err := head.under()
	if err != nil {
		return err
	}
	node := u
	var at uint64
	if u.Kind == types.Pointer {
		if at, err = head.word(); err != nil {
			return err
		}
		to, err := u.Target()
		if err != nil {
			return err
		}
		if node, err = to.Under(); err != nil {
			return err
		}
		start = 0
	} else if !ok {
		return errGarbage
	} else if at, err = v.frame.inMemory("", start, node).wordAt(f.Next); err != nil {
		return err
	}
	size, err := node.Bytes()
	if err != nil {
		return err
	}
	if f.Ring { // the head has more than a node
		size = 2 * int64(v.frame.stack.Arch.PointerSize())
	}
	claimed := int64(-1)
	if f.Count != "" {
		n, err := v.wordAt(f.Count)
		if err != nil || n > maxCounted {
			return errors.Join(err, errGarbage)
		}
		claimed = int64(n)
	}
	behind := align(size, c.of)
	seen := make(map[uint64]bool)
	for at != 0 && (at != start || start == 0) && len(c.nodes) < maxNodes {
		if seen[at] {
			c.err = errors.New("its nodes lead back to an earlier one")
			break
		}
		seen[at] = true
		c.nodes = append(c.nodes, at+uint64(behind))
		next, err := v.frame.inMemory("", at, node).wordAt(f.Next)
		if err != nil {
			c.err = err
			break
		}
		at = next
	}
	c.count = int64(len(c.nodes))
	if claimed >= 0 && claimed != c.count && (c.err == nil && c.count < maxNodes) {
		return errGarbage
	}
	if c.err != nil && c.count <= 1 {
		return errGarbage
	}
	c.count = max(c.count, claimed)
	return nil
}

// tree follows the nodes of a tree in their order: each has a colour, and pointers to its parent, left and right.
func (c *container) tree() error {
	v := c.value
	head, err := v.path(c.by.Head)
	if err != nil {
		return err
	}
	start, ok := head.Address()
	if !ok {
		return errGarbage
	}
	count, err := v.wordAt(c.by.Count)
	if err != nil || count > maxCounted {
		return errors.Join(err, errGarbage)
	}
	u, err := head.under()
	if err != nil {
		return err
	}
	size, err := u.Bytes()
	if err != nil {
		return err
	}
	link := func(at uint64, name string) (uint64, error) { return v.frame.inMemory("", at, u).wordAt(name) }
	root, err := link(start, "_M_parent")
	if err != nil {
		return err
	}
	behind := align(size, c.of)
	var open []uint64
	at := root
	for (at != 0 || len(open) > 0) && int64(len(c.nodes)) < min(int64(count), maxNodes) {
		for at != 0 {
			if len(open) > 128 { // deeper than a balanced tree can be
				return errGarbage
			}
			open = append(open, at)
			if at, err = link(at, "_M_left"); err != nil {
				return err
			}
		}
		at = open[len(open)-1]
		open = open[:len(open)-1]
		c.nodes = append(c.nodes, at+uint64(behind))
		if at, err = link(at, "_M_right"); err != nil {
			return err
		}
	}
	c.count = int64(count)
	if int64(len(c.nodes)) < min(c.count, maxNodes) {
		return errGarbage
	}
	return nil
}

// optional reads whether there is a value.
func (c *container) optional() error {
	has, err := c.value.wordAt(c.by.Has)
	if err != nil {
		return err
	}
	if has > 1 {
		return errGarbage
	}
	if has == 1 {
		c.one, err = c.value.path(c.by.Value)
	}
	return err
}

// holdsElements says whether the container has elements, and not one value.
func (c *container) holdsElements() bool {
	return c.nodes != nil || c.of != nil && c.by.Kind != show.Text
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
	if c.nodes == nil && c.one != nil {
		out = c.one.Indexed(start, count)
		for _, e := range out {
			if v.Path != "" {
				e.Path = wrap(v.Path) + e.Name
			}
		}
		return out
	}
	for i := max(start, 0); i < min(start+count, int(min(c.count, maxIndexed))); i++ {
		name := fmt.Sprintf("[%d]", i)
		if i >= len(c.nodes) {
			why := c.err
			if why == nil {
				why = fmt.Errorf("more than %d nodes are not followed", maxNodes)
			}
			return append(out, v.frame.unknown(name, why))
		}
		one := v.frame.inMemory(name, c.nodes[i], c.of)
		if v.Path != "" {
			one.Path = wrap(v.Path) + name
		}
		out = append(out, one)
	}
	return out
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
		fmt.Fprintf(w, "%d elements ", c.count)
		w.elements(c.value, int(min(c.count, maxIndexed)), deeper)
	case c.by.Kind == show.Optional && c.one == nil:
		w.WriteString("none")
	case c.by.Kind == show.Optional:
		w.WriteString("some ")
		w.value(c.one, max(deeper-1, 0))
	default:
		w.value(c.one, max(deeper-1, 0))
	}
}

// characters are those of a text.
func (c *container) characters() (string, int64, error) {
	size, err := c.of.Bytes()
	if err != nil {
		return "", 0, err
	}
	if size != 1 {
		return "", 0, errors.New("characters of several bytes")
	}
	data, err := c.one.read(min(c.count, maxString))
	return string(data), c.count, err
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

// method is what the container says of itself, by the name that programs call it by.
func (c *container) method(name string) *Value {
	f := c.value.frame
	switch {
	case (name == "size" || name == "len" || name == "length") && (c.holdsElements() || c.by.Kind == show.Text):
		return f.valueOf(wordOf(uint64(c.count)), types.Number("unsigned long", 8, types.EncodingUnsigned))
	case name == "get" && c.by.Kind == show.Pointer:
		return c.one
	case (name == "c_str" || name == "data") && c.by.Kind == show.Text:
		if addr, ok := c.one.Address(); ok {
			return f.valueOf(wordOf(addr), types.PointerTo(c.of, 8))
		}
	}
	return nil
}
