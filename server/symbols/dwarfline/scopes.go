package dwarfline

import (
	"debug/dwarf"
	"slices"
	"strings"
)

// scope is an entry that names of functions are qualified by: a namespace, a module, a
// type or a function.
type scope struct {
	begin, end uint64 // of the entry with its children
	parent     int    // the scope that it lies in, -1 for none
	depth      int
}

// scopeTags are the tags of scopes.
var scopeTags = []dwarf.Tag{
	dwarf.TagNamespace, dwarf.TagModule, dwarf.TagClassType, dwarf.TagStructType, dwarf.TagUnionType,
	dwarf.TagInterfaceType, dwarf.TagSubprogram,
}

// separators are what languages write between a scope and a name. Languages that are
// not here have no scopes: C, whose names are complete.
var separators = map[uint64]string{
	0x04: "::", 0x11: "::", 0x1a: "::", 0x21: "::", 0x2b: "::", 0x3a: "::", // C++, Objective-C++, C++11, 14, 17, 20
	0x1c:      "::", // Rust
	languageD: ".",
}

// languageD is DW_LANG_D. Its compilers put instances of templates into the function that
// they are for, not where they are declared: names of functions are no scopes there.
const languageD = 0x13

// qualifier finds the scopes that qualify names of a unit.
type qualifier struct{ *unit }

// separator is what the unit's language writes between a scope and a name, "" if it has no
// scopes.
func (u qualifier) separator() string {
	language, _ := u.root.attrs[atLanguage].constant()
	return separators[language]
}

// readScopes lists the unit's scopes in the order of their entries, once.
func (u qualifier) readScopes() ([]scope, error) {
	if u.scopesRead {
		return u.scopes, nil
	}
	u.scopesRead = true
	var all []scope
	var open []int
	room := true
	err := u.walk(u.first, func(_ *cursor, at uint64, a *abbrev, depth int) (into bool, err error) {
		for len(open) > 0 && all[open[len(open)-1]].depth >= depth {
			all[open[len(open)-1]].end = at
			open = open[:len(open)-1]
		}
		if !a.children || !slices.Contains(scopeTags, a.tag) {
			return true, nil
		}
		if room = len(all) < maxSpans; !room {
			return false, errManySpan
		}
		parent := -1
		if len(open) > 0 {
			parent = open[len(open)-1]
		}
		open = append(open, len(all))
		all = append(all, scope{begin: at, end: u.end, parent: parent, depth: depth})
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	u.scopes = all
	return all, nil
}

// around returns the entry of the scope that an entry lies in.
func (u qualifier) around(off uint64) (at uint64, ok bool, err error) {
	all, err := u.readScopes()
	if err != nil {
		return 0, false, err
	}
	i, _ := slices.BinarySearchFunc(all, off, func(s scope, off uint64) int {
		if s.begin < off {
			return -1
		}
		return 1
	})
	for i--; i >= 0; i = all[i].parent {
		if off < all[i].end {
			return all[i].begin, true, nil
		}
	}
	return 0, false, nil
}

// prefix returns what stands before the name of the entry at off: the names of the scopes
// that it lies in, each with the separator. A scope counts by its declaration: a member
// function's is in its class. deeper is how many scopes may still be looked at.
func (u qualifier) prefix(off uint64, separator string, deeper int) (string, error) {
	at, ok, err := u.around(off)
	switch {
	case err != nil || !ok:
		return "", err
	case deeper == 0:
		return "", errScopes
	}
	key := nameKey{u.from.info, at}
	if known, ok := u.t.prefixes[key]; ok {
		return known, nil
	}
	name, err := u.qualified(at, separator, deeper-1)
	if err != nil {
		return "", err
	}
	u.t.prefixes[key] = name
	return name, nil
}

// qualified returns the name of the scope at off, with the scopes before it and the
// separator behind it.
func (u qualifier) qualified(off uint64, separator string, deeper int) (string, error) {
	in, of, e, err := u.declaration(off)
	if err != nil || separator == separators[languageD] && e.tag == dwarf.TagSubprogram {
		return "", err
	}
	name, err := qualifier{in}.scopeName(&e)
	if err != nil {
		return "", err
	}
	before, err := qualifier{in}.prefix(of, separator, deeper)
	if name = before + name + separator; len(name) > maxName {
		name = "…" + separator
	}
	return name, err
}

// declared are the attributes that lead to where an entry is declared.
var declared = []slot{atOrigin, atSpecification, atSignature}

// declaration follows an entry's abstract origin, its specification, or a type's signature
// into a type unit, to the entry that has the name and lies in the scopes.
func (u qualifier) declaration(off uint64) (in *unit, at uint64, e entry, err error) {
	for range maxHops {
		if e, _, err = u.entryAt(off); err != nil {
			return nil, 0, e, err
		}
		i := slices.IndexFunc(declared, func(s slot) bool { return !e.attrs[s].absent() })
		if i < 0 {
			return u.unit, off, e, nil
		}
		next := e.attrs[declared[i]]
		if u.unit, off, err = u.follow(next); err != nil {
			return nil, 0, e, err
		}
	}
	return nil, 0, e, errHops
}

// scopeName returns a scope's own name, as demangled names have it.
func (u qualifier) scopeName(e *entry) (string, error) {
	if v := e.attrs[atName]; !v.absent() {
		return u.text(v)
	}
	switch {
	case !slices.Contains(scopeTags, e.tag):
		return "", errNoRef
	case e.tag == dwarf.TagNamespace:
		return "(anonymous namespace)", nil
	}
	return u.unnamedType(e.off)
}

const (
	unnamed = "{unnamed type}"
	lambda  = "{lambda()}"
	closure = "<lambda>" // GCC's name for the constructors of a lambda's type, which has none
)

// unnamedType returns what a type without a name is called. GCC's lambdas are known by
// their constructors; which of a function's lambdas it is DWARF does not tell.
func (u qualifier) unnamedType(off uint64) (name string, err error) {
	name = unnamed
	var e entry
	walked := u.walk(off, func(c *cursor, at uint64, a *abbrev, depth int) (into bool, err error) {
		if depth == 1 && a.tag == dwarf.TagSubprogram && name == unnamed {
			c.readEntry(at, a, u.sizes, &e)
			if v := e.attrs[atName]; !v.absent() {
				var text string
				if text, err = u.text(v); strings.TrimPrefix(text, "~") == closure {
					name = lambda
				}
			}
		}
		return depth == 0, err
	})
	return name, walked
}
