package dwarfline

// debugTypes holds type units of DWARF 4; those of DWARF 5 are in .debug_info.
const debugTypes = ".debug_types"

// typeUnit returns the type unit with a signature (DWARF 5, section 3.1.4), and its type's
// entry.
func (u *unit) typeUnit(signature uint64) (*unit, uint64, error) {
	all := u.t.typeUnits
	if u.isSplit() {
		all = u.skeleton.split.types
	}
	if to := all()[signature]; to != nil {
		return to, to.start + to.typeAt, to.open()
	}
	return nil, 0, errTypeUnit
}

// typeUnits lists the file's type units by their signatures, once.
func (t *Table) typeUnits() map[uint64]*unit {
	if t.types != nil {
		return t.types
	}
	t.types = make(map[uint64]*unit)
	t.listUnits(^uint64(0))
	addTypes(t.types, t.listed)
	in := *t.ownSections()
	in.info = t.section(debugTypes)
	for at := uint64(0); at < in.info.size(); {
		u, err := t.unitHeader(&in, at)
		if err != nil {
			t.problem(nil, err)
			break
		}
		addTypes(t.types, []*unit{u})
		at = u.end
	}
	return t.types
}

// types lists the type units that are in a split unit's file.
func (s *splitUnits) types() map[uint64]*unit {
	all := make(map[uint64]*unit)
	addTypes(all, s.all)
	return all
}

func addTypes(to map[uint64]*unit, all []*unit) {
	for _, u := range all {
		if u.err == nil && (u.kind == unitType || u.kind == unitSplitType) {
			to[u.id] = u
		}
	}
}
