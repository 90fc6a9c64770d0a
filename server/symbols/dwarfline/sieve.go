package dwarfline

import (
	"debug/dwarf"
	"strings"
)

// sieve keeps of a unit's entries the functions and inlined calls.
type sieve struct {
	f     *finder
	u     *unit
	nodes []node
	index map[uint64]int32 // by offset
}

// node is a function, a declaration of one, or an inlined call.
type node struct {
	off, origin uint64 // origin: the entry in the unit that has its name, 0 for none
	named, code bool
}

func (s *sieve) visit(c *cursor, at uint64, a *abbrev, _ int) (into bool, err error) {
	if a.tag != dwarf.TagSubprogram && (a.tag != dwarf.TagInlinedSubroutine || s.f.name == "") {
		return true, nil
	}
	if len(s.nodes) == maxSpans {
		return false, errManyEntries
	}
	var e entry
	c.readEntry(at, a, s.u.sizes, &e)
	n := node{off: at, code: !e.attrs[atLowPC].absent() || !e.attrs[atRanges].absent()}
	if v := e.attrs[atName]; !v.absent() {
		n.named = s.fits(v)
	} else if v := origin(&e); !v.absent() {
		n.origin, n.named = s.follow(v)
	}
	if s.f.name == "" {
		n.named = n.code
	}
	if n.named || n.origin != 0 {
		s.index[at] = int32(len(s.nodes))
		s.nodes = append(s.nodes, n)
	}
	return true, nil
}

// origin is what an entry says of where its name is.
func origin(e *entry) value {
	if v := e.attrs[atOrigin]; !v.absent() {
		return v
	}
	return e.attrs[atSpecification]
}

// fits says whether a name is the one that is looked for.
func (s *sieve) fits(v value) bool {
	if s.f.name == "" {
		return true
	}
	if v.form == formStrp && !s.f.every && !s.f.targets[uint32(v.n)] {
		return false
	}
	text, err := s.u.text(v)
	rest, ok := strings.CutPrefix(text, s.f.name)
	return err == nil && ok && ends(append([]byte(rest), 0))
}

// follow returns the entry in this unit that a value refers to, or says whether one in another has the name.
func (s *sieve) follow(v value) (off uint64, named bool) {
	u := s.u
	switch v.form {
	case formRef1, formRef2, formRef4, formRef8, formRefUdata:
		return u.start + v.n, false
	case formRefAddr:
		if v.n >= u.start && v.n < u.end && !u.isSplit() {
			return v.n, false
		}
		if u.isSplit() {
			return 0, s.reaches(v)
		}
		return 0, s.f.entries[0][v.n] || s.f.every && s.reaches(v)
	case formGNURefAlt, formRefSup4, formRefSup8:
		return 0, s.f.entries[1][v.n] || s.f.every && s.reaches(v)
	}
	return 0, false
}

// reaches follows a value that refers to an entry in another unit.
func (s *sieve) reaches(v value) bool {
	u := s.u
	for range maxHops {
		to, off, err := u.follow(v)
		if err != nil {
			return false
		}
		e, _, err := to.entryAt(off)
		if err != nil {
			return false
		}
		if name := e.attrs[atName]; !name.absent() {
			return (&sieve{f: s.f, u: to}).fits(name)
		}
		if v = origin(&e); v.absent() {
			return false
		}
		u = to
	}
	return false
}

// isNamed says whether a node has the name, itself or by where it comes from.
func (s *sieve) isNamed(i int) bool {
	for range maxHops {
		n := &s.nodes[i]
		if n.named || n.origin == 0 {
			return n.named
		}
		next, ok := s.index[n.origin]
		if !ok {
			return false
		}
		i = int(next)
	}
	return false
}
