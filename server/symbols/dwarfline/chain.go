package dwarfline

import (
	"debug/dwarf"
	"errors"
)

var (
	errNested   = errors.New("too many functions inlined into each other")
	errManySpan = errors.New("too many ranges of functions")
)

// inlined is a call that was inlined.
type inlined struct {
	off      uint64 // of its entry
	parent   int    // the call that it lies in, -1 for none
	file     uint64 // of the call
	hasFile  bool
	line     int
	column   int
	nesting  int
	begin    int // where its ranges begin and end in the tree's
	endRange int
}

// tree is a function with the calls that were inlined into it, in the order of
// their entries: a call comes behind the one that it lies in.
type tree struct {
	off    uint64
	nodes  []inlined
	ranges [][2]uint64
}

// readFunctions reads which addresses the unit's functions have, once. Functions
// nest in namespaces, types, modules and each other, so all entries are looked at.
func (u *unit) readFunctions() (*spans, error) {
	if u.functions != nil || u.err != nil {
		return u.functions, u.err
	}
	found := &spans{}
	var e entry
	var failed error
	err := u.walk(u.first, func(c *cursor, at uint64, a *abbrev, _ int) bool {
		if a.tag != dwarf.TagSubprogram {
			return true
		}
		c.readEntry(at, a, u.sizes, &e)
		err := u.ranges(&e, func(low, high uint64) {
			if !found.add(low, high, at) {
				failed = errManySpan
			}
		})
		if err != nil && failed == nil {
			failed = err
		}
		return true
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		u.err = err // what was read of it tells nothing for certain
		return nil, err
	}
	u.functions = found
	return found, nil
}

// functionAt returns the function with an address.
func (u *unit) functionAt(addr uint64) (*tree, error) {
	functions, err := u.readFunctions()
	if err != nil {
		return nil, err
	}
	for s := range functions.at(addr) {
		if t, ok := u.trees[s.of]; ok {
			return t, nil
		}
		t, err := u.readTree(s.of)
		if err != nil {
			return nil, err
		}
		u.trees[s.of] = t
		return t, nil
	}
	return nil, ErrUnknown
}

// readTree reads the calls that were inlined into the function at off.
func (u *unit) readTree(off uint64) (*tree, error) {
	t := &tree{off: off}
	var failed error
	var open []int // the calls that the entry lies in, by the depth of their entries
	err := u.walk(off, func(c *cursor, at uint64, a *abbrev, depth int) bool {
		for len(open) < depth {
			open = append(open, -1)
		}
		open = open[:depth]
		parent := -1
		if depth > 0 {
			parent = open[depth-1]
		}
		switch {
		case depth > 0 && a.tag == dwarf.TagSubprogram:
			return false // another function
		case a.tag == dwarf.TagInlinedSubroutine:
			if err := u.addInlined(t, c, at, a, parent); err != nil && failed == nil {
				failed = err
			}
			parent = len(t.nodes) - 1
		}
		open = append(open, parent)
		return true
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		u.err = err
		return nil, err
	}
	return t, nil
}

// addInlined reads one inlined call.
func (u *unit) addInlined(t *tree, c *cursor, at uint64, a *abbrev, parent int) error {
	var e entry
	c.readEntry(at, a, u.sizes, &e)
	n := inlined{off: at, parent: parent, begin: len(t.ranges)}
	if parent >= 0 {
		n.nesting = t.nodes[parent].nesting + 1
	}
	if n.nesting == maxNested {
		return errNested
	}
	n.file, n.hasFile = e.attrs[atCallFile].constant()
	n.line, n.column = number(e.attrs[atCallLine]), number(e.attrs[atCallColumn])
	err := u.ranges(&e, func(low, high uint64) { t.ranges = append(t.ranges, [2]uint64{low, high}) })
	n.endRange = len(t.ranges)
	t.nodes = append(t.nodes, n)
	if len(t.ranges) > maxSpans {
		return errManySpan
	}
	return err
}

// number returns a line or column, 0 if the value is none that can be.
func number(v value) int {
	n, ok := v.constant()
	if !ok || n > 1<<31-1 {
		return 0
	}
	return int(n)
}

// innermost returns the last call with an address, -1 if there is none.
func (t *tree) innermost(addr uint64) int {
	for i := len(t.nodes) - 1; i >= 0; i-- {
		for _, r := range t.ranges[t.nodes[i].begin:t.nodes[i].endRange] {
			if r[0] <= addr && addr < r[1] {
				return i
			}
		}
	}
	return -1
}

// calls returns the chain at an address.
func (u *unit) calls(addr uint64) (calls []Call, err error) {
	d, err := u.described()
	if err != nil {
		return nil, err
	}
	t, err := d.functionAt(addr)
	if err != nil && !errors.Is(err, ErrUnknown) {
		return nil, err
	}
	lines, err := u.lineTable()
	if err != nil { // names and calls hold all the same
		u.t.problem(u, err)
	}
	file, line, column, ok := lines.find(addr)
	if t == nil {
		if !ok {
			return nil, ErrUnknown
		}
		return []Call{{File: file, Line: line, Column: column}}, nil
	}
	for i := t.innermost(addr); i >= 0; i = t.nodes[i].parent {
		n := &t.nodes[i]
		is := d.namesOf(n.off)
		calls = append(calls, Call{Linkage: is.linkage, Name: is.name, File: file, Line: line, Column: column, Inlined: true, Function: true})
		file, line, column = "", 0, 0
		if n.hasFile && lines != nil {
			if file = lines.file(n.file); file != "" {
				line, column = n.line, n.column
			}
		}
	}
	is := d.namesOf(t.off)
	return append(calls, Call{Linkage: is.linkage, Name: is.name, File: file, Line: line, Column: column, Function: true}), nil
}
