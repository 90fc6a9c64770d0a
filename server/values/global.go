package values

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"slices"

	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/server/symbols/dwarfline"
	"github.com/clewdbg/clew/server/values/types"
)

func demangle(name string) string { return names.Demangle(name) }

// instance returns the entry in this scope of a variable that a type refers to: types that are decided at
// run time refer to those of the abstract function.
func (f *Frame) instance(e *dwarfline.Entry) *dwarfline.Entry {
	all, _, err := f.variables()
	if err != nil {
		return e
	}
	for i := range all {
		if slices.ContainsFunc(origins(all[i].entry), func(o *dwarfline.Entry) bool { return o.Key() == e.Key() }) && !all[i].missing {
			return all[i].entry
		}
	}
	return e
}

const (
	maxUnits     = 1 << 16 // that are searched for a name
	maxSearched  = 1 << 21 // entries, for one name
	maxNamespace = 16      // within each other
)

var errBudget = errors.New("the program has too many variables to be searched for it")

// search looks for a variable or type of a unit by its name, or by what it is declared by.
type search struct {
	budget int
	match  func(e *dwarfline.Entry) bool
	tags   []dwarf.Tag
}

// in searches what lies directly in a unit or namespace.
func (s *search) in(scope *dwarfline.Entry, deeper int) (*dwarfline.Entry, error) {
	children, _, err := scope.Children(maxEntries)
	if err != nil {
		return nil, err
	}
	if s.budget -= len(children); s.budget < 0 {
		return nil, errBudget
	}
	for _, c := range children {
		if slices.Contains(s.tags, c.Tag()) && s.match(c) {
			return c, nil
		}
	}
	for _, c := range children {
		if c.Tag() != dwarf.TagNamespace && c.Tag() != dwarf.TagModule || deeper == 0 {
			continue
		}
		if found, err := s.in(c, deeper-1); found != nil || err != nil {
			return found, err
		}
	}
	return nil, nil
}

var variableTags = []dwarf.Tag{dwarf.TagVariable}

// elsewhere finds the definition of a variable that is declared here: in this unit, else in others.
func (f *Frame) elsewhere(v *Value, e *dwarfline.Entry) {
	found, at, err := f.definition(e, nameOf(e))
	switch {
	case err != nil:
		v.err = err
	case found == nil:
		v.err = errDeclared
	default:
		in := *f
		in.at, in.types = at, typesOf(at.Table)
		in.place(v, found)
		v.frame = &in
		if of, err := in.typeOf(found); err == nil {
			v.typ = of
		}
	}
}

// definition searches this file's variables, and then those that others export.
func (f *Frame) definition(of *dwarfline.Entry, name string) (found *dwarfline.Entry, at codemap.Described, err error) {
	linkage, full := "", ""
	if of != nil {
		full = fullName(of)
		if l, err := withAttr(of, dwarf.AttrLinkageName); err == nil && l != nil {
			linkage = l.Text(dwarf.AttrLinkageName)
		}
	}
	isIt := func(e *dwarfline.Entry) bool {
		if e.Flag(dwarf.AttrDeclaration) || !e.Has(dwarf.AttrLocation) && !e.Has(dwarf.AttrConstValue) {
			return false
		}
		if of != nil && slices.ContainsFunc(origins(e), func(o *dwarfline.Entry) bool { return o.Key() == of.Key() }) {
			return true
		}
		if linkage != "" {
			l, err := withAttr(e, dwarf.AttrLinkageName)
			return err == nil && l != nil && l.Text(dwarf.AttrLinkageName) == linkage
		}
		if of != nil {
			return fullName(e) == full
		}
		return named(e, name)
	}
	s := search{budget: maxSearched, match: isIt, tags: variableTags}
	if f.function != nil {
		unit, err := f.function.Unit()
		if err != nil {
			return nil, at, err
		}
		if found, err = s.in(unit, maxNamespace); found != nil || err != nil {
			return found, f.at, err
		}
	}
	s.match = func(e *dwarfline.Entry) bool { return isIt(e) && isExternal(e) }
	return f.inOthers(&s)
}

// inOthers searches the units of this image, and then of others.
func (f *Frame) inOthers(s *search) (*dwarfline.Entry, codemap.Described, error) {
	var images []codemap.Described
	if f.at.Table != nil {
		images = append(images, f.at)
	}
	for d := range f.stack.Code.AllDescribed() {
		if d.Table != f.at.Table {
			images = append(images, d)
		}
	}
	for _, d := range images {
		units, _ := d.Table.Units(maxUnits)
		for _, u := range units {
			if found, err := s.in(u, maxNamespace); found != nil || err != nil {
				return found, d, err
			}
		}
	}
	return nil, f.at, nil
}

// named says whether an entry has a name, with or without its scopes.
func named(e *dwarfline.Entry, name string) bool {
	own := nameOf(e)
	if own == "" || len(own) > len(name) || name[len(name)-len(own):] != own {
		return false
	}
	if own == name {
		return true
	}
	for _, o := range origins(e) {
		if o.Scope()+own == name {
			return true
		}
	}
	return false
}

// Statics are the variables of the frame's file, at most a few thousand.
func (f *Frame) Statics() (out []*Value, err error) {
	if f.lack != nil {
		return nil, f.lack
	}
	unit, err := f.function.Unit()
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool)
	s := search{budget: maxSearched, tags: variableTags, match: func(e *dwarfline.Entry) bool {
		name := nameOf(e)
		if name == "" || seen[name] || !e.Has(dwarf.AttrLocation) && !e.Has(dwarf.AttrConstValue) {
			return false
		}
		seen[name] = true
		v := &Value{Name: name, Path: name, frame: f}
		if v.typ, v.err = f.typeOf(e); v.err != nil {
			v.typ = types.VoidType
		} else {
			f.place(v, e)
		}
		out = append(out, v)
		return len(out) == maxVariables
	}}
	_, err = s.in(unit, maxNamespace)
	return out, err
}

// Globals are the variables outside of functions, of all images, whose names match: with their scopes.
func (f *Frame) Globals(match func(name string) bool) (out []*Value, err error) {
	seen := make(map[string]bool)
	s := search{budget: maxSearched, tags: variableTags}
	for d := range f.stack.Code.AllDescribed() {
		in := *f
		in.at, in.types = d, typesOf(d.Table)
		s.match = func(e *dwarfline.Entry) bool {
			own := nameOf(e)
			if own == "" || e.Flag(dwarf.AttrDeclaration) {
				return false
			}
			for _, o := range origins(e) { // a definition may stand outside of its scope
				if scope := o.Scope(); scope != "" {
					own = scope + nameOf(e)
				}
			}
			if !match(own) {
				return false
			}
			at, err := withAttr(e, dwarf.AttrLocation)
			if known, failed := withAttr(e, dwarf.AttrConstValue); err == nil && failed == nil && at == nil && known == nil {
				return false
			}
			v := &Value{Name: own, Path: own, frame: &in}
			if v.typ, v.err = in.typeOf(e); v.err != nil {
				v.typ = types.VoidType
			} else {
				in.place(v, e)
			}
			addr, _ := v.Address()
			if key := fmt.Sprintf("%s %#x", own, addr); !seen[key] {
				seen[key] = true
				out = append(out, v)
			}
			return len(out) == maxVariables
		}
		units, _ := d.Table.Units(maxUnits)
		for _, u := range units {
			if u.Language() == languageGo {
				continue
			}
			if full, err := s.in(u, maxNamespace); full != nil || err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

const languageGo = 0x16
