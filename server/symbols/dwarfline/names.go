package dwarfline

import "strings"

// names are a function's names.
type names struct{ linkage, name, scope string }

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
	var n names
	if err := n.read(u, off); err != nil {
		u.t.problem(u, err)
	}
	u.t.names[key] = n
	return n
}

func (n *names) read(u *unit, off uint64) error {
	separator := qualifier{u}.separator()
	for range maxHops {
		e, _, err := u.entryAt(off)
		if err != nil {
			return err
		}
		if err := n.add(u, &e); err != nil {
			return err
		}
		next := e.attrs[atOrigin]
		if next.absent() {
			next = e.attrs[atSpecification]
		}
		switch {
		case n.named() && n.name != "":
			return nil
		case next.absent():
			return n.addScope(u, off, separator)
		}
		if u, off, err = u.follow(next); err != nil {
			return err
		}
	}
	return errHops
}

// named says that the linker's name has the scope, and can be read.
func (n *names) named() bool { return n.linkage != "" && !IsD(n.linkage) }

// IsD says that a linker's name is one of D's, which nothing here demangles.
func IsD(name string) bool {
	rest, ok := strings.CutPrefix(name, "_D")
	return ok && rest != "" && rest[0] >= '0' && rest[0] <= '9'
}

// addScope adds the scope of a function whose declaration is at off, unless the
// linker's name has it.
func (n *names) addScope(u *unit, off uint64, separator string) (err error) {
	if n.named() || n.name == "" || separator == "" {
		return nil
	}
	n.scope, err = qualifier{u}.prefix(off, separator, maxScopes)
	return err
}

// add takes the names that are not known yet from an entry.
func (n *names) add(u *unit, e *entry) (err error) {
	if v := e.attrs[atLinkageName]; n.linkage == "" && !v.absent() {
		if n.linkage, err = u.text(v); err != nil {
			return err
		}
	}
	if v := e.attrs[atName]; n.name == "" && !v.absent() {
		n.name, err = u.text(v)
	}
	return err
}
