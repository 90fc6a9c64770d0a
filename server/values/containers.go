package values

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clewdbg/clew/server/values/expr"
	"github.com/clewdbg/clew/server/values/show"
	"github.com/clewdbg/clew/server/values/types"
)

// container is a value that is shown as what it holds.
type container struct {
	value *Value
	by    *show.Formatter
	count int64       // of elements
	of    *types.Type // an element's type

	behind int64   // where an element lies in its node, if no expression says it
	places []place // of elements that do not lie one behind the other, as far as they were followed
	err    error   // behind the last
	one    *Value  // of what holds one value, or none; an array of elements that lie one behind the other

	known map[string]*types.Type
}

// place is where an element is found: a node, and the index in it, or of the container.
type place struct {
	in    *Value
	index int64
}

const (
	// maxNodes bounds the nodes that are followed, and maxSlots the indexes that are searched for elements.
	maxNodes = 4096
	maxSlots = 1 << 16
	// maxCounted is how many elements a container can claim: more are garbage, as of one that is not initialized.
	maxCounted = 1 << 32
	// maxWork bounds the steps of formatters' expressions for one value's text.
	maxWork = 1 << 19
)

var (
	errGarbage = errors.New("it does not look initialized")
	errWork    = errors.New("formatters take too many steps for it")
)

// budget begins a piece of work that formatters have a budget for; those within it share it.
func (s *Stack) budget() (end func()) {
	if s.working {
		return func() {}
	}
	s.working, s.work = true, 0
	return func() { s.working = false }
}

// formatters returns those for a type, by its own name and by those that typedefs give it; u is the type without those.
func (s *Stack) formatters(t, u *types.Type) []*show.Formatter {
	if found, ok := s.forType[t]; ok {
		return found
	}
	var found []*show.Formatter
	inner := ""
	if u.Entry() != nil {
		inner = u.Entry().Scope()
	}
	var names []string
	for alias := t; len(names) < maxWithin; {
		if alias.Own != "" || alias.Kind == types.Pointer {
			names = append(names, alias.String())
		}
		next, err := alias.Target()
		if alias.Kind != types.Alias || err != nil {
			break
		}
		alias = next
	}
	for i, all := range [][]show.Formatter{show.Own(), show.Builtin()} {
		if i == 1 && strings.Contains(inner, "<") {
			break // a part of a container
		}
		for k := range all {
			if u.Kind == types.Pointer && !all[k].OfPointer() {
				continue // a pointer to a container is none
			}
			if slices.ContainsFunc(names, all[k].Matches) {
				found = append(found, &all[k])
			}
		}
	}
	if s.forType == nil {
		s.forType = make(map[*types.Type][]*show.Formatter)
	}
	s.forType[t] = found
	return found
}

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
	if err != nil || u.Kind != types.Struct && u.Kind != types.Union && u.Kind != types.Pointer {
		return nil
	}
	defer v.frame.stack.budget()()
	for _, f := range v.frame.stack.formatters(v.typ, u) {
		c := &container{value: v, by: f, known: make(map[string]*types.Type)}
		if c.read(u) == nil {
			v.holds = c
			return c
		}
	}
	return nil
}

// eval evaluates one of the formatter's expressions for an object: the value, or a node.
func (c *container) eval(text string, in *Value, index int64) (*Value, error) {
	f := c.value.frame
	e := evaluator{frame: f, known: c.known, object: in, vars: map[string]*Value{"i": f.valueOf(wordOf(uint64(index)), indexType)}}
	if f.stack.work++; f.stack.work > maxWork {
		return nil, errWork
	}
	n, ok := f.stack.parsed[text]
	if !ok {
		var err error
		if n, err = expr.Parse(text, e.isType); err != nil {
			return nil, err
		}
		if f.stack.parsed == nil {
			f.stack.parsed = make(map[string]expr.Node)
		}
		f.stack.parsed[text] = n
	}
	v, err := e.eval(n)
	if err != nil {
		return nil, err
	}
	return v, v.err
}

var indexType = types.Number("long", 8, types.EncodingSigned)

// word evaluates an expression that is a number or a pointer.
func (c *container) word(text string, in *Value, index int64) (uint64, error) {
	v, err := c.eval(text, in, index)
	if err != nil {
		return 0, err
	}
	return plain(v).word()
}

// counted evaluates a number of elements.
func (c *container) counted(text string) (int64, error) {
	n, err := c.word(text, c.value, 0)
	if err == nil && n > maxCounted {
		err = errGarbage
	}
	return int64(n), err
}

// read reads what the container's members say.
func (c *container) read(u *types.Type) error {
	f := c.by
	if err := c.element(u); err != nil {
		return err
	}
	if f.Valid != "" {
		if ok, err := c.word(f.Valid, c.value, 0); err != nil || ok == 0 {
			return errors.Join(err, errGarbage)
		}
	}
	switch f.Kind {
	case show.Text, show.Slice, show.Range:
		return c.contiguous()
	case show.Each:
		return c.each()
	case show.List:
		return c.list()
	case show.Tree:
		return c.tree()
	case show.BTree:
		return c.btree()
	case show.Tuple:
		return c.tuple(u)
	case show.Optional:
		return c.optional(u)
	}
	one, err := c.eval(f.Value, c.value, 0)
	c.one = one
	return err
}

// element finds the type of the elements, T in expressions, and those of template parameters.
func (c *container) element(u *types.Type) (err error) {
	of := u
	if c.by.Of != "" {
		m, err := c.eval(c.by.Of, c.value, 0)
		if err != nil {
			return err
		}
		if of, err = m.typ.Under(); err != nil {
			return err
		}
	}
	for i := range maxParameters {
		t, err := of.Parameter(i)
		if err != nil {
			break
		}
		c.known[fmt.Sprintf("T%d", i)] = t
	}
	if c.by.Element == nil {
		return nil
	}
	c.of, err = of.Parameter(*c.by.Element)
	c.known["T"] = c.of
	return err
}

// maxParameters bounds the template parameters that expressions name as T0, T1 and so on.
const maxParameters = 4

// isOwnType says whether a name is one of the types that formatters' expressions have of their own, T and T0 and so on, known or not: the
// program's of that name is never meant.
func isOwnType(name string) bool {
	return name == "T" || len(name) == 2 && name[0] == 'T' && name[1] >= '0' && name[1] < '0'+maxParameters
}

// contiguous reads where elements lie one behind the other.
func (c *container) contiguous() error {
	v, f := c.value, c.by
	at := f.Pointer
	if f.Kind == show.Range {
		at = f.First
	}
	p, err := c.eval(at, v, 0)
	if err != nil {
		return err
	}
	first, err := p.word()
	if u, failed := p.under(); failed == nil && u.Kind == types.Array { // in the value itself
		to, isPlace := p.Address()
		if !isPlace {
			return errGarbage
		}
		first, err = to, nil
	}
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
	if err != nil || size < 0 || size == 0 && f.Kind == show.Range {
		return errors.Join(err, errGarbage)
	}
	if f.Kind == show.Range {
		end, err := c.word(f.End, v, 0)
		if err != nil {
			return err
		}
		if end < first || (end-first)%uint64(size) != 0 || (end-first)/uint64(size) > maxCounted {
			return errGarbage
		}
		c.count = int64((end - first) / uint64(size))
	} else if c.count, err = c.counted(f.Count); err != nil {
		return err
	}
	if size > 0 && (c.count > 0 || first != 0 && f.Kind == show.Range) && !v.frame.holds(first) {
		return errGarbage
	}
	if last := first + uint64(c.count*size) - 1; c.count*size > 0 && !v.frame.holds(last) {
		return errGarbage
	}
	c.one = v.frame.inMemory("", first, types.ArrayOf(c.of, c.count))
	c.one.Path = ""
	return nil
}

// holds says whether there is memory at an address.
func (f *Frame) holds(addr uint64) bool { return f.ReadMemory(addr, make([]byte, 1)) == nil }

// each finds elements by their indexes.
func (c *container) each() (err error) {
	if c.count, err = c.counted(c.by.Count); err != nil {
		return err
	}
	if c.by.If != "" {
		slots, err := c.counted(c.by.Slots)
		if err != nil {
			return err
		}
		for i := int64(0); i < slots && int64(len(c.places)) < min(c.count, maxNodes) && c.err == nil; i++ {
			has, err := c.word(c.by.If, c.value, i)
			switch {
			case err != nil:
				return err
			case has != 0:
				c.places = append(c.places, place{c.value, i})
			case i == maxSlots:
				c.err = fmt.Errorf("more than %d places of elements are not searched", maxSlots)
			}
		}
		if c.err == nil && int64(len(c.places)) < min(c.count, maxNodes) {
			return errGarbage
		}
	}
	for _, i := range []int64{0, c.count - 1} { // what is there must be readable
		if i < 0 || i >= c.count || c.by.If != "" && i >= int64(len(c.places)) {
			continue
		}
		e := c.at(i)
		if n, err := e.typ.Bytes(); e.err != nil || err == nil && n > 0 && e.bits == 0 && e.firstErr() != nil {
			return errGarbage
		}
	}
	return nil
}

// tuple collects members of the bases.
func (c *container) tuple(u *types.Type) error {
	from := c.value
	if c.by.Head != "" {
		in, err := c.eval(c.by.Head, from, 0)
		if err != nil {
			return err
		}
		from = in
	}
	level := []*Value{from}
	for searched := 0; len(level) > 0 && searched < maxFound; searched++ {
		of := level[0]
		level = level[1:]
		in, err := of.under()
		if err != nil {
			return err
		}
		for _, m := range of.fields(in) {
			if m.base {
				level = append(level, m)
			} else if m.static == nil && m.Name == c.by.Value {
				c.places = append(c.places, place{in: m})
			}
		}
	}
	c.count = int64(len(c.places))
	if _, err := u.Parameter(len(c.places)); err == nil {
		return errGarbage // there are more than were found
	}
	return nil
}

// optional reads whether there is a value.
func (c *container) optional(u *types.Type) error {
	f, has := c.by, uint64(1)
	var err error
	if f.Has != "" {
		if has, err = c.word(f.Has, c.value, 0); err != nil || has > 1 {
			return errors.Join(err, errGarbage)
		}
	}
	if has == 0 {
		return nil
	}
	if f.Index != "" {
		i, err := c.eval(f.Index, c.value, 0)
		if err != nil {
			return err
		}
		n, err := i.word()
		if err != nil {
			return err
		}
		if size, err := i.typ.Bytes(); err == nil && narrow(n+1, 8*size, false) == 0 {
			return nil // it has none
		}
		if c.of, err = u.Parameter(int(min(n, 1<<16))); err != nil {
			return err
		}
	}
	if f.Symbol != "" {
		at, err := c.word(f.Symbol, c.value, 0)
		if err != nil {
			return err
		}
		name := ""
		if symbol, behind, ok := c.value.frame.nameAt(at); ok && behind == 0 {
			name = f.TypeIn(symbol)
		}
		if name == "" {
			return errGarbage // the symbol is another formatter's
		}
		e := evaluator{frame: c.value.frame, exact: true} // the program's T, not the formatter's
		if c.of, err = e.find(name); err != nil || c.of == nil {
			return errors.Join(err, errGarbage)
		}
	}
	if c.of != nil {
		c.known["T"] = c.of
	}
	if c.one, err = c.eval(f.Value, c.value, 0); err == nil && c.of != nil {
		one := *c.one
		one.typ, one.looked, one.holds = c.of, false, nil
		c.one = &one
	}
	return err
}
