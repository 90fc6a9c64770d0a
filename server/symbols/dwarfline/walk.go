package dwarfline

// visit reads an entry's values, or leaves that to the walk. The walk leaves out the
// entry's children unless into is true. It goes on after an error.
type visit func(c *cursor, at uint64, a *abbrev, depth int) (into bool, err error)

// walker visits a unit's entries one after the other.
type walker struct {
	u      *unit
	c      cursor
	visit  visit
	depth  int
	hidden int   // the depth of the entry whose children are left out, -1 for none
	err    error // the first of visit
}

// walk calls visit for every entry from off on, in their order, until the list that
// the entry at off is part of ends (or, if it has children, after it and them). depth
// counts from 0.
func (u *unit) walk(off uint64, visit visit) error {
	w := walker{u: u, c: u.cursor(off), visit: visit, hidden: -1}
	for n := 0; !w.c.done(); n++ {
		if n == maxEntries {
			w.c.fail("too many entries")
			break
		}
		if w.next(); w.depth <= 0 || w.c.err != nil {
			break
		}
	}
	if w.c.err != nil {
		return w.c.err
	}
	return w.err
}

// next reads an entry, or the end of a list of them.
func (w *walker) next() {
	at := w.c.off
	a := w.u.abbrev(&w.c)
	if a == nil {
		w.depth--
		return
	}
	if w.hidden >= 0 && w.depth > w.hidden {
		w.c.skipEntry(a, w.u.sizes)
	} else {
		w.visitAt(at, a)
	}
	if a.children {
		w.depth++
	}
}

func (w *walker) visitAt(at uint64, a *abbrev) {
	before := w.c.off
	into, err := w.visit(&w.c, at, a, w.depth)
	if w.c.off == before {
		w.c.skipEntry(a, w.u.sizes)
	}
	w.hidden = -1
	if !into && a.children {
		w.hidden = w.depth
	}
	if w.err == nil {
		w.err = err
	}
}
