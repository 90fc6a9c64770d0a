package dwarfline

// names are a function's names.
type names struct{ linkage, name string }

// nameKey is an entry of a section.
type nameKey struct {
	s   *section
	off uint64
}

// namesOf returns the names of the function at an entry: its own, else those of its
// abstract origin, else of its specification. What could not be read of them is
// named as a problem of the unit, once.
func (u *unit) namesOf(off uint64) names {
	key := nameKey{u.from.info, off}
	if n, ok := u.t.names[key]; ok {
		return n
	}
	n, err := u.findNames(off)
	if err != nil {
		u.t.problem(u, err)
	}
	u.t.names[key] = n
	return n
}

func (u *unit) findNames(off uint64) (n names, err error) {
	at := u
	for range maxHops {
		e, _, err := at.entryAt(off)
		if err != nil {
			return n, err
		}
		if err := at.fill(&n.linkage, e.attrs[atLinkageName]); err != nil {
			return n, err
		}
		if err := at.fill(&n.name, e.attrs[atName]); err != nil {
			return n, err
		}
		next := e.attrs[atOrigin]
		if next.absent() {
			next = e.attrs[atSpecification]
		}
		if next.absent() || n.linkage != "" && n.name != "" {
			return n, nil
		}
		if at, off, err = at.follow(next); err != nil {
			return n, err
		}
	}
	return n, errHops
}

// fill sets a name that is not known yet.
func (u *unit) fill(name *string, v value) (err error) {
	if *name == "" && !v.absent() {
		*name, err = u.text(v)
	}
	return err
}
