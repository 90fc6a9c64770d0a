package dwarfline

import (
	"errors"
	"fmt"
)

var (
	errNoSplit    = errors.New("neither the file nor the package is there")
	errOtherSplit = errors.New("it has no unit with that ID")
)

// SplitError says that a split unit's entries are not used: what is inlined where
// is not known, so the lines do not count either.
type SplitError struct {
	Name string // of the split unit's file
	Err  error
}

// Error names the file.
func (e *SplitError) Error() string { return fmt.Sprintf("split unit %s: %v", e.Name, e.Err) }

// Unwrap returns the cause.
func (e *SplitError) Unwrap() error { return e.Err }

// splitUnits are the split units that belong to a skeleton.
type splitUnits struct {
	skeleton *unit
	opened   bool
	unit     *unit   // with the skeleton's ID; nil if there is none
	all      []*unit // that are in the file, or in the package for this skeleton
}

// described returns the unit with the entries: the split unit of a skeleton, else the
// unit itself. Some compilers leave functions and inlined calls in the skeleton
// too (clang's -fsplit-dwarf-inlining): they serve where the split unit is missing.
func (u *unit) described() (*unit, error) {
	name := u.root.attrs[atDwoName]
	if name.absent() || u.isSplit() {
		return u, nil
	}
	if !u.split.opened {
		u.split.opened = true
		var err error
		if u.split.unit, err = u.split.open(name); err != nil {
			u.t.problem(u, err)
		}
	}
	if u.split.unit != nil {
		return u.split.unit, nil
	}
	if own, err := u.functions.read(); err != nil || len(own.all) > 0 {
		return u, err
	}
	return nil, ErrUnknown
}

// open opens the split unit: from the package with all of them,
// else from the file that it names.
func (s *splitUnits) open(v value) (*unit, error) {
	name, err := s.skeleton.text(v)
	if err != nil {
		return nil, err
	}
	split, err := s.fromPackage()
	if split == nil && err == nil {
		split, err = s.fromFile(name)
	}
	if err != nil {
		return nil, &SplitError{name, err}
	}
	return split, nil
}

func (s *splitUnits) fromFile(name string) (*unit, error) {
	u := s.skeleton
	if u.t.src.Split == nil {
		return nil, errNoSplit
	}
	src, err := u.t.src.Split(u.compDir(), name) // without a folder the name counts from where the program is
	if err != nil {
		return nil, err
	}
	if src == nil {
		return nil, errNoSplit
	}
	return s.find(s.sections(newTable(src, u.t.budget)), 0, 0, ^uint64(0))
}

// sections are those of the split unit: its own, and the addresses and
// lines of the file with the skeleton.
func (s *splitUnits) sections(t *Table) *sections {
	k := s.skeleton.from
	return &sections{
		info: t.section(".debug_info.dwo"), abbrev: t.section(".debug_abbrev.dwo"), str: t.section(".debug_str.dwo"),
		strOffsets: t.section(".debug_str_offsets.dwo"), rnglists: t.section(".debug_rnglists.dwo"),
		loc: t.section(".debug_loc.dwo"), loclists: t.section(".debug_loclists.dwo"),
		addr: k.addr, ranges: k.ranges, line: k.line, lineStr: k.lineStr,
	}
}

// find returns the split unit with the skeleton's ID among those at begin, end.
func (s *splitUnits) find(in *sections, abbrevAt, begin, end uint64) (*unit, error) {
	in.infoAt = begin
	for begin < min(end, in.info.size()) {
		split, err := s.skeleton.t.unitHeader(in, begin)
		if err != nil {
			return nil, err
		}
		begin = split.end
		split.abbrevOffset, split.skeleton = split.abbrevOffset+abbrevAt, s.skeleton
		s.all = append(s.all, split)
	}
	for _, split := range s.all {
		if split.kind == unitSplitType || split.version >= 5 && split.id != s.skeleton.id {
			continue
		}
		if err := split.open(); err != nil {
			return nil, err
		}
		if split.id == s.skeleton.id {
			return split, nil
		}
	}
	return nil, errOtherSplit
}

// follow returns the unit with an entry at an offset, which counts from begin.
func (s *splitUnits) follow(begin, off uint64) (*unit, uint64, error) {
	if off > ^uint64(0)-begin {
		return nil, 0, errRefNowhere
	}
	to, err := unitWith(s.all, begin+off)
	return to, begin + off, err
}
