package delve

import (
	"debug/dwarf"
	"errors"
)

// Delve asks Go's own table, which a library of C has none of, for a line in a function whose unit has no line table: it panics
// (pkg/proc/bininfo.go, pcToLine). unlined looks for such units.
type unlined struct {
	unit       dwarf.Tag // of the unit that is being read
	lined      bool      // it has a line table
	named      bool      // that it has one, or none, has been seen
	function   bool      // it has a function with an address
	importing  bool      // a unit without a line table imports others
	importable bool      // a partial unit has functions
}

var errNoLines = errors.New("a unit has functions, and no line table")

// note looks at an entry.
func (u *unlined) note(a *abbrev, first bool) {
	tag := dwarf.Tag(a.tag)
	switch {
	case first:
		u.unit, u.lined, u.named, u.function = tag, false, false, false
	case tag == dwarf.TagImportedUnit:
		u.importing = u.importing || u.unit == dwarf.TagCompileUnit && !u.lined
	case tag == dwarf.TagSubprogram && !u.function:
		for _, f := range a.fields {
			u.function = u.function || f.attr == attrLow || f.attr == attrRanges
		}
	}
}

// table says that the unit names a line table, which is there or not. The first one counts.
func (u *unlined) table(there bool) {
	if !u.named {
		u.named, u.lined = true, there
	}
}

// leave ends a unit. A unit that imports another has its functions.
func (u *unlined) leave() error {
	u.importable = u.importable || u.unit == dwarf.TagPartialUnit && u.function
	if u.unit == dwarf.TagCompileUnit && u.function && !u.lined || u.importing && u.importable {
		return errNoLines
	}
	return nil
}
