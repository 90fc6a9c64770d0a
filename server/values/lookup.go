package values

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/symbols/dwarfline"
	"github.com/clewdbg/clew/server/values/location"
	"github.com/clewdbg/clew/server/values/types"
)

// wanted is a name that is looked for, as a scope means it: C++ and Rust look from the innermost scope outwards.
type wanted struct {
	own  string   // the last part
	full []string // with the scopes in which it may stand; the first that there is counts
	// parts are those of the name as it was written: one whose scopes were left out has them in this order. nil: none may be left out.
	parts []string
}

// AmbiguousError says that a name is one of several, of which none counts before the others.
type AmbiguousError struct{ Name, A, B string }

// Error names two of them.
func (e *AmbiguousError) Error() string {
	if e.A == e.B {
		return fmt.Sprintf("there are several of the name %s", e.A)
	}
	return fmt.Sprintf("%s is one of several: %s, %s", e.Name, e.A, e.B)
}

// parts splits a name at the :: that stand in no brackets.
func parts(name string) (out []string) {
	depth, from := 0, 0
	for i := 0; i < len(name); i++ {
		switch {
		case strings.IndexByte("<([", name[i]) >= 0:
			depth++
		case strings.IndexByte(">)]", name[i]) >= 0:
			depth--
		case depth == 0 && strings.HasPrefix(name[i:], "::"):
			out = append(out, name[from:i])
			from = i + 2
			i++
		}
	}
	return append(out, name[from:])
}

const unnamedScope = "(anonymous namespace)::"

// wants is a name as the frame's function means it.
func (f *Frame) wants(name string) wanted {
	rest, whole := strings.CutPrefix(name, "::")
	w := wanted{parts: parts(rest)}
	w.own = w.parts[len(w.parts)-1]
	if whole {
		w.parts = nil
	} else if f.function != nil {
		scope := ""
		for _, o := range origins(f.function) {
			if s := o.Scope(); len(s) > len(scope) {
				scope = s
			}
		}
		in := parts(strings.ReplaceAll(scope, unnamedScope, ""))
		for n := len(in) - 1; n > 0; n-- {
			w.full = append(w.full, strings.Join(in[:n], "::")+"::"+rest)
		}
	}
	w.full = append(w.full, rest)
	return w
}

// loose is the rank of a name whose scopes were left out.
const loose = 1 << 10

// rank says how well a full name fits: less is better, below 0 not at all.
func (w *wanted) rank(full string) int {
	if i := slices.Index(w.full, full); i >= 0 {
		return i
	}
	short := strings.ReplaceAll(full, unnamedScope, "")
	if i := slices.Index(w.full, short); i >= 0 {
		return i
	}
	at := 0
	for _, p := range parts(short) {
		if at < len(w.parts) && w.parts[at] == p {
			at++
		}
	}
	if at > 0 && at == len(w.parts) {
		return loose
	}
	return -1
}

// fullName is an entry's name with its scopes: those of its declaration, outside of which its definition may stand.
func fullName(e *dwarfline.Entry) string {
	all := origins(e)
	for i := len(all) - 1; i >= 0; i-- {
		if own := all[i].Text(dwarf.AttrName); own != "" {
			return all[i].Scope() + own
		}
	}
	return ""
}

// sort is what a name can be of. What comes first counts before the others in one scope.
type sort uint8

const (
	ofVariable sort = iota
	ofConstant      // of an enumeration
	ofFunction
	ofType
	ofNothing
)

// found is an entry that has the name.
type found struct {
	entry *dwarfline.Entry
	at    codemap.Described
	full  string
	sort  sort
	// constant is the index of an enumeration's.
	constant int
	// score is less the better it fits: by rank, sort, and whether it is shared by files.
	score int
	other string // the name of another that fits as well
}

func (b *found) isLoose() bool { return b.score >= loose<<4 }

// better keeps the entry that fits best.
func (b *found) better(one found) {
	switch {
	case b.entry != nil && one.score > b.score:
	case b.entry == nil || one.score < b.score:
		*b = one
	case b.other == "" && !b.same(&one):
		b.other = one.full
	}
}

// same says whether the entry is another description of what was found: it has the same place, or the same name that files share.
func (b *found) same(one *found) bool {
	if sameOrigin(b.entry, one.entry) {
		return true
	}
	if b.sort == ofVariable {
		a, ok, _ := one.entry.Block(dwarf.AttrLocation)
		c, has, _ := b.entry.Block(dwarf.AttrLocation)
		if ok && has && one.at.Table == b.at.Table {
			return slices.Equal(a, c)
		}
		return ok == has && b.full == one.full && isExternal(b.entry) && isExternal(one.entry)
	}
	n, known := one.entry.Begin()
	m, other := b.entry.Begin()
	return known == other && n == m && b.full == one.full
}

// lookup finds what has a name: in the frame's file first, then in others.
type lookup struct {
	wanted
	budget int
	// sorted says what an entry is.
	sorted func(e *dwarfline.Entry) sort
	near   bool // it is the frame's own file
	all    bool // that there are, after the best too
	best   found
	at     codemap.Described
	names  []string // of types and functions that are entered
	within string   // the function that is searched, for languages without scopes
}

// lookup looks a name up; what is found has no entry where there is none.
func (f *Frame) lookup(w wanted, sorted func(e *dwarfline.Entry) sort) (found, error) {
	l := lookup{wanted: w, budget: maxSearched, sorted: sorted}
	for _, full := range w.full {
		all := parts(full)
		l.names = append(l.names, all[:len(all)-1]...)
	}
	var own *dwarfline.Entry
	if f.function != nil {
		unit, err := f.function.Unit()
		if err != nil {
			return found{}, err
		}
		own, l.at, l.near = unit, f.at, true
		if err := l.in(unit, maxNamespace); err != nil {
			return found{}, err
		}
		switch b := &l.best; {
		case b.entry != nil && b.sort == ofFunction && b.other != "" && !b.isLoose(): // C++ has several of a name
			return found{}, &AmbiguousError{w.own, b.full, b.other}
		case b.entry != nil && !b.isLoose():
			return *b, nil
		}
		l.near = false
	}
	if err := l.everywhere(f, own); err != nil {
		return found{}, err
	}
	shared := l.best.score&1 == 0
	if l.best.other != "" && (l.best.isLoose() || !shared && l.best.sort != ofType) {
		return found{}, &AmbiguousError{strings.Join(parts(w.full[len(w.full)-1]), "::"), l.best.full, l.best.other}
	}
	return l.best, nil
}

// everywhere searches all units: those of the frame's image first.
func (l *lookup) everywhere(f *Frame, but *dwarfline.Entry) error {
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
		l.at = d
		units, _ := d.Table.Units(maxUnits)
		for _, u := range units {
			if but != nil && u.Key() == but.Key() {
				continue
			}
			if err := l.in(u, maxNamespace); err != nil {
				return err
			}
			if !l.all && l.best.entry != nil && l.best.score == 0 {
				return nil
			}
		}
	}
	return nil
}

// in searches a scope. No name finds nothing, not what has none.
func (l *lookup) in(scope *dwarfline.Entry, deeper int) error {
	if l.own == "" {
		return nil
	}
	children, _, err := scope.Children(maxEntries)
	if err != nil {
		return err
	}
	if l.budget -= len(children); l.budget < 0 {
		return errBudget
	}
	for _, c := range children {
		switch s := l.sorted(c); {
		case s == ofNothing:
		case s == ofConstant:
			l.constants(c)
		case nameOf(c) == l.own:
			full := fullName(c)
			if l.within != "" && !strings.Contains(full, "::") {
				full = l.within + "::" + full
			}
			l.fits(c, s, full, 0)
		}
		if deeper == 0 {
			continue
		}
		switch tag := c.Tag(); {
		case tag == dwarf.TagNamespace || tag == dwarf.TagModule:
		case len(l.names) == 0:
			continue
		case tag == dwarf.TagStructType || tag == dwarf.TagClassType || tag == dwarf.TagUnionType || tag == dwarf.TagSubprogram:
			if !slices.Contains(l.names, nameOf(c)) {
				continue
			}
		case isBlock(tag) && scope.Tag() == dwarf.TagSubprogram:
		default:
			continue
		}
		before := l.within
		if c.Tag() == dwarf.TagSubprogram {
			l.within = nameOf(c)
		}
		err := l.in(c, deeper-1)
		if l.within = before; err != nil {
			return err
		}
	}
	return nil
}

// fits keeps an entry if it fits better than others.
func (l *lookup) fits(e *dwarfline.Entry, s sort, full string, constant int) {
	rank := l.rank(full)
	if rank < 0 || rank == loose && s == ofFunction { // a class's own functions have its name
		return
	}
	score := rank<<4 | int(s)<<1
	if !l.near && s != ofConstant && !isExternal(e) {
		score |= 1
	}
	l.best.better(found{entry: e, at: l.at, full: full, sort: s, constant: constant, score: score})
}

// constants looks at those of an enumeration: their names are also those of the scope that it stands in.
func (l *lookup) constants(e *dwarfline.Entry) {
	t, err := typesOf(l.at.Table).At(e)
	if err != nil {
		return
	}
	list, err := t.Enumerators()
	if err != nil {
		return
	}
	i := slices.IndexFunc(list, func(one types.Enumerator) bool { return one.Name == l.own })
	if i < 0 {
		return
	}
	l.fits(e, ofConstant, e.Scope()+l.own, i)
	if t.Own != "" {
		l.fits(e, ofConstant, e.Scope()+t.Own+"::"+l.own, i)
	}
}

// isDefined says whether an entry is a variable that has a place, or a value: one of a function alone where it lies at an address.
func isDefined(e *dwarfline.Entry) bool {
	if e.Tag() != dwarf.TagVariable && e.Tag() != dwarf.TagMember || e.Tag() == dwarf.TagMember && !e.Has(dwarf.AttrConstValue) {
		return false
	}
	if !e.Has(dwarf.AttrLocation) {
		return e.Has(dwarf.AttrConstValue)
	}
	code, ok, err := e.Block(dwarf.AttrLocation)
	return err == nil && ok && len(code) > 0 && slices.Contains(staticOps, code[0])
}

// staticOps are the operations with which places of variables begin that are there as long as the program is: DW_OP_addr,
// DW_OP_addrx, GNU's before DWARF 5, constants that lead to a thread's variables, and values.
var staticOps = []byte{0x03, 0xa1, 0xfb, 0x0e, 0x0c, 0xa2, 0xfc, 0x10, 0x9e}

func isExternal(e *dwarfline.Entry) bool {
	return slices.ContainsFunc(origins(e), func(o *dwarfline.Entry) bool { return o.Flag(dwarf.AttrExternal) })
}

// sortOf says what an entry is that a name in an expression can be of.
func sortOf(e *dwarfline.Entry) sort {
	switch e.Tag() {
	case dwarf.TagVariable, dwarf.TagMember:
		if isDefined(e) {
			return ofVariable
		}
	case dwarf.TagEnumerationType:
		if !e.Flag(dwarf.AttrDeclaration) {
			return ofConstant
		}
	case dwarf.TagSubprogram:
		if e.Has(dwarf.AttrLowpc) || e.Has(dwarf.AttrRanges) {
			return ofFunction
		}
	}
	return ofNothing
}

// Global returns a variable outside of functions, a function, or a constant of an enumeration by its name: what the frame's function means by it,
// of its file first, then of another. A name whose scopes are left out must be the only one. nil: there is none.
func (f *Frame) Global(name string) (*Value, error) {
	b, err := f.lookup(f.wants(name), sortOf)
	if err != nil || b.entry == nil {
		return nil, err
	}
	return f.foundValue(name, &b)
}

// foundValue is the value of what was found.
func (f *Frame) foundValue(name string, b *found) (*Value, error) {
	in := *f
	in.at, in.types = b.at, typesOf(b.at.Table)
	v := &Value{Name: name, Path: name, frame: &in}
	switch b.sort {
	case ofConstant:
		t, err := in.types.At(b.entry)
		if err != nil {
			return nil, err
		}
		list, err := t.Enumerators()
		size, failed := t.Bytes()
		if err != nil || failed != nil || size > 8 || b.constant >= len(list) {
			return nil, errors.Join(err, failed)
		}
		return f.valueOf(wordOf(list[b.constant].Value)[:size], t), nil
	case ofFunction:
		at, ok := b.entry.Begin()
		t, err := in.types.At(b.entry)
		if err != nil || !ok {
			return nil, err
		}
		v.typ, v.place = t, location.In(at+b.at.Bias)
		return v, nil
	}
	if v.typ, v.err = in.typeOf(b.entry); v.err != nil {
		v.typ = types.VoidType
		return v, nil
	}
	in.place(v, b.entry)
	return v, nil
}

var typeTags = []dwarf.Tag{dwarf.TagBaseType, dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagEnumerationType, dwarf.TagTypedef, dwarf.TagTemplateAlias}

// typeNamed searches DWARF for a type. nil: there is none.
func (f *Frame) typeNamed(w wanted) (*types.Type, error) {
	b, err := f.lookup(w, func(e *dwarfline.Entry) sort {
		if slices.Contains(typeTags, e.Tag()) && !e.Flag(dwarf.AttrDeclaration) {
			return ofType
		}
		return ofNothing
	})
	if err != nil || b.entry == nil {
		return nil, err
	}
	return typesOf(b.at.Table).At(b.entry)
}

// complete returns the definition of a type that is declared only in its file: that of another file, if all that there are have the same
// size.
func (f *Frame) complete(u *types.Type) *types.Type {
	if u.Own == "" || u.Entry() == nil {
		return u
	}
	key := "\x00" + u.Tag.String() + " " + u.String()
	t, ok := f.stack.named[key]
	if !ok {
		full := u.Entry().Scope() + u.Own
		all := parts(full)
		l := lookup{wanted: wanted{own: u.Own, full: []string{full}}, budget: maxSearched, names: all[:len(all)-1], all: true}
		agree, size := true, uint64(0)
		l.sorted = func(e *dwarfline.Entry) sort {
			same := e.Tag() == u.Tag || u.Kind == types.Struct && (e.Tag() == dwarf.TagStructType || e.Tag() == dwarf.TagClassType)
			if !same || e.Flag(dwarf.AttrDeclaration) || nameOf(e) != u.Own || fullName(e) != full {
				return ofNothing
			}
			n, _ := e.Constant(dwarf.AttrByteSize)
			agree = agree && (size == 0 || size == n.Value)
			size = n.Value
			return ofType
		}
		if l.everywhere(f, nil) == nil && l.best.entry != nil && agree {
			t, _ = typesOf(l.best.at.Table).At(l.best.entry)
		}
		if f.stack.named == nil {
			f.stack.named = make(map[string]*types.Type)
		}
		f.stack.named[key] = t
	}
	if t == nil {
		return u
	}
	return t
}
