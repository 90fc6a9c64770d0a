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

	entry   uint64 // where the function begins
	checked bool   // see checkLines
}

// functions are a unit's functions.
type functions struct {
	u     *unit
	spans *spans           // nil: not read yet
	trees map[uint64]*tree // those that were asked for, by the offset of their entries
}

// read reads which addresses the functions have, once. Functions nest in namespaces,
// types, modules and each other, so all entries are looked at.
func (f *functions) read() (*spans, error) {
	u := f.u
	if f.spans != nil || u.err != nil {
		return f.spans, u.err
	}
	found := &spans{}
	var e entry
	u.err = u.walk(u.first, func(c *cursor, at uint64, a *abbrev, _ int) (into bool, err error) {
		if a.tag != dwarf.TagSubprogram {
			return true, nil
		}
		c.readEntry(at, a, u.sizes, &e)
		room := true
		err = u.ranges(&e, func(low, high uint64) { room = room && found.add(low, high, at) })
		if !room {
			err = errManySpan
		}
		return true, err
	})
	if u.err != nil { // what was read of it tells nothing for certain
		return nil, u.err
	}
	f.spans = found
	return found, nil
}

// at returns the function with an address.
func (f *functions) at(addr uint64) (*tree, error) {
	all, err := f.read()
	if err != nil {
		return nil, err
	}
	for s := range all.at(addr) {
		if t, ok := f.trees[s.of]; ok {
			return t, nil
		}
		t, err := readTree(f.u, s.of)
		if err != nil {
			f.u.err = err
			return nil, err
		}
		if f.trees == nil {
			f.trees = make(map[uint64]*tree)
		}
		f.trees[s.of] = t
		return t, nil
	}
	return nil, ErrUnknown
}

// readTree reads the calls that were inlined into the function at off.
func readTree(u *unit, off uint64) (*tree, error) {
	t := &tree{off: off}
	var open []int // the calls that the entry lies in, by the depth of their entries
	err := u.walk(off, func(c *cursor, at uint64, a *abbrev, depth int) (into bool, err error) {
		for len(open) < depth {
			open = append(open, -1)
		}
		open = open[:depth]
		parent := -1
		if depth > 0 {
			parent = open[depth-1]
		}
		switch {
		case depth == 0:
			var e entry
			c.readEntry(at, a, u.sizes, &e)
			t.entry, _ = beginOf(u, &e)
		case a.tag == dwarf.TagSubprogram:
			return false, nil // another function
		case a.tag == dwarf.TagInlinedSubroutine:
			var e entry
			c.readEntry(at, a, u.sizes, &e)
			err = t.add(u, &e, parent)
			parent = len(t.nodes) - 1
		}
		open = append(open, parent)
		return true, err
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// add adds the inlined call of an entry.
func (t *tree) add(u *unit, e *entry, parent int) error {
	n := inlined{off: e.off, parent: parent, begin: len(t.ranges)}
	if parent >= 0 {
		n.nesting = t.nodes[parent].nesting + 1
	}
	if n.nesting == maxNested {
		return errNested
	}
	n.file, n.hasFile = e.attrs[atCallFile].constant()
	n.line, n.column = number(e.attrs[atCallLine]), number(e.attrs[atCallColumn])
	err := u.ranges(e, func(low, high uint64) { t.ranges = append(t.ranges, [2]uint64{low, high}) })
	n.endRange = len(t.ranges)
	t.nodes = append(t.nodes, n)
	if len(t.ranges) > maxSpans {
		return errManySpan
	}
	return err
}

// number returns a line or column, 0 if the value is out of range.
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
	t, err := d.functions.at(addr)
	if err != nil && !errors.Is(err, ErrUnknown) {
		return nil, err
	}
	lines, err := u.lineTable()
	if err != nil { // names and calls hold all the same
		u.t.problem(u, err)
	}
	at, ok := lines.find(addr)
	if t != nil && ok {
		if err := u.checkLines(lines, t, addr); err != nil {
			u.t.problem(u, err)
		}
	}
	if t == nil {
		if !ok {
			return nil, ErrUnknown
		}
		return []Call{at}, nil
	}
	for i := t.innermost(addr); i >= 0; i = t.nodes[i].parent {
		n := &t.nodes[i]
		calls = append(calls, d.call(n.off, at, true))
		at = lines.callOf(n)
	}
	return append(calls, d.call(t.off, at, false)), nil
}

// call returns the call of the function at an entry, with a place in it.
func (u *unit) call(off uint64, at Call, inlined bool) Call {
	n := u.namesOf(off)
	at.Linkage, at.Name, at.Scope, at.Inlined, at.Function = n.linkage, n.name, n.scope, inlined, true
	return at
}

// callOf returns the place of an inlined call.
func (t *lineTable) callOf(n *inlined) (at Call) {
	if t == nil || !n.hasFile {
		return Call{}
	}
	if at.File = t.file(n.file); at.File != "" {
		at.Line, at.Column = n.line, n.column
	}
	return at
}
