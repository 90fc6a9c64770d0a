package values

import (
	"debug/dwarf"
	"fmt"
	"strings"

	"github.com/clewdbg/clew/server/symbols/dwarfline"
	"github.com/clewdbg/clew/server/values/types"
)

// vtablePrefix is what a demangled symbol of a class's table of virtual functions begins with.
const vtablePrefix = "vtable for "

// dynamic returns the whole object that a class's object in memory is a part of, as its table of virtual functions names it; the value itself
// where there is no such table, or no proof: a symbol for the table, and DWARF's type of that name, which has the class as a base.
func (v *Value) dynamic() *Value {
	u, err := v.under()
	addr, ok := v.Address()
	if err != nil || !ok || u.Kind != types.Struct || !hasTable(u, maxDepth) {
		return v
	}
	table, err := v.frame.inMemory("", addr, wordType).word()
	if err != nil {
		return v
	}
	symbol, ok := v.frame.stack.Code.VTable(table)
	if !ok {
		return v
	}
	name, ok := strings.CutPrefix(demangle(symbol), vtablePrefix)
	if !ok || name == u.String() {
		return v
	}
	// Two words before what it points to is how far behind the object's start this part of it lies (Itanium C++ ABI, 2.5.2).
	top, err := v.frame.inMemory("", table-16, indexType).word()
	if err != nil || int64(top) > 0 || int64(top) < -maxRead {
		return v
	}
	e := evaluator{frame: v.frame, exact: true}
	whole, err := e.find(name)
	if err != nil || whole == nil || !derives(whole, u, maxDerived) {
		return v
	}
	out := v.frame.inMemory(v.Name, addr+top, whole)
	out.Argument, out.Shadowed = v.Argument, v.Shadowed
	if v.Path != "" {
		out.Path = fmt.Sprintf("*(%s *)%#x", whole, addr+top)
	}
	return out
}

const maxDerived = 64 // classes that derive from each other

// hasTable says whether objects of a class begin with a pointer to a table of virtual functions.
func hasTable(u *types.Type, deeper int) bool {
	members, _, err := u.Members()
	if err != nil || deeper == 0 {
		return false
	}
	for i := range members {
		m := &members[i]
		switch {
		case m.Err() != nil || m.Offset != 0 || m.Static != nil || m.Virtual:
		case strings.HasPrefix(m.Name, "_vptr"):
			return true
		case m.Base:
			if b, err := m.Type.Under(); err == nil && hasTable(b, deeper-1) {
				return true
			}
		}
	}
	return false
}

// derives says whether a class has another as one of its bases, or of theirs.
func derives(t, from *types.Type, deeper int) bool {
	u, err := t.Under()
	if err != nil || deeper == 0 {
		return false
	}
	if u == from || u.Own != "" && u.String() == from.String() {
		return true
	}
	members, _, err := u.Members()
	for i := range members {
		if err == nil && members[i].Base && members[i].Err() == nil && derives(members[i].Type, from, deeper-1) {
			return true
		}
	}
	return false
}

// traitObject returns what a trait object of Rust points to: the type is that of its table, which DWARF describes as a variable. nil for
// other values.
func (v *Value) traitObject() *Value {
	u, err := v.under()
	if err != nil || u.Kind != types.Struct || !rust[u.Language] {
		return nil
	}
	members, _, err := u.Members()
	if err != nil || len(members) < 2 || members[0].Name != "pointer" || members[1].Name != "vtable" {
		return nil
	}
	at, err := v.member(&members[0]).word()
	if err != nil {
		return nil
	}
	table, err := v.member(&members[1]).word()
	if err != nil {
		return nil
	}
	of := v.frame.typeOfTable(table)
	if of == nil {
		return nil
	}
	return v.frame.inMemory("", at, of)
}

// typeOfTable returns the type that a table of a trait's functions is for, nil if it is not known.
func (f *Frame) typeOfTable(table uint64) *types.Type {
	if t, ok := f.stack.tables[table]; ok {
		return t
	}
	var of *types.Type
	for d := range f.stack.Code.AllDescribed() {
		in := *f
		in.at, in.types = d, typesOf(d.Table)
		s := search{budget: maxSearched, tags: variableTags, match: func(e *dwarfline.Entry) bool {
			if !strings.HasSuffix(nameOf(e), "{vtable}") {
				return false
			}
			v := &Value{frame: &in}
			in.place(v, e)
			addr, ok := v.Address()
			return ok && addr == table
		}}
		units, _ := d.Table.Units(maxUnits)
		for i := 0; i < len(units) && of == nil; i++ {
			found, err := s.in(units[i], maxNamespace)
			if err != nil || found == nil {
				continue
			}
			if shape, err := found.Refers(dwarf.AttrType); err == nil && shape != nil {
				if to, err := shape.Refers(dwarf.AttrContainingType); err == nil && to != nil {
					of, _ = in.types.At(to)
				}
			}
		}
	}
	if f.stack.tables == nil {
		f.stack.tables = make(map[uint64]*types.Type)
	}
	f.stack.tables[table] = of
	return of
}
