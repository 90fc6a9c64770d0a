package dwarfline

import (
	"errors"
	"fmt"
	"sort"
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

// described returns the unit with the entries: the split unit of a skeleton, else the
// unit itself. Some compilers leave functions and inlined calls in the skeleton
// too (clang's -fsplit-dwarf-inlining): they serve where the split unit is missing.
func (u *unit) described() (*unit, error) {
	name := u.root.attrs[atDwoName]
	if name.absent() || u.isSplit() {
		return u, nil
	}
	if !u.splitRead {
		u.splitRead = true
		var err error
		if u.split, err = u.openSplit(name); err != nil {
			u.t.problem(u, err)
		}
	}
	if u.split != nil {
		return u.split, nil
	}
	if own, err := u.readFunctions(); err != nil || len(own.all) > 0 {
		return u, err
	}
	return nil, ErrUnknown
}

// openSplit opens the split unit of a skeleton: from the package with all of them,
// else from the file that it names.
func (u *unit) openSplit(v value) (*unit, error) {
	name, err := u.text(v)
	if err != nil {
		return nil, err
	}
	split, err := u.fromPackage()
	if split == nil && err == nil {
		split, err = u.fromSplitFile(name)
	}
	if err != nil {
		return nil, &SplitError{name, err}
	}
	return split, nil
}

func (u *unit) fromSplitFile(name string) (*unit, error) {
	if u.t.src.Split == nil {
		return nil, errNoSplit
	}
	dir := ""
	if v := u.root.attrs[atCompDir]; !v.absent() {
		dir, _ = u.text(v) // without it the name counts from where the program is
	}
	src, err := u.t.src.Split(dir, name)
	if err != nil {
		return nil, err
	}
	if src == nil {
		return nil, errNoSplit
	}
	return u.findSplit(u.splitSections(newTable(src, u.t.budget)), 0, 0, ^uint64(0))
}

// splitSections are the sections of a split unit: its own, and the addresses and
// lines of the file with the skeleton.
func (u *unit) splitSections(t *Table) sections {
	return sections{
		info: t.section(".debug_info.dwo"), abbrev: t.section(".debug_abbrev.dwo"), str: t.section(".debug_str.dwo"),
		strOffsets: t.section(".debug_str_offsets.dwo"), rnglists: t.section(".debug_rnglists.dwo"),
		addr: u.from.addr, ranges: u.from.ranges, line: u.from.line, lineStr: u.from.lineStr,
	}
}

// findSplit returns the split unit with the ID among those at from, to.
func (u *unit) findSplit(s sections, abbrevAt, from, to uint64) (*unit, error) {
	s.infoAt = from
	for n := 0; from < min(to, s.info.size()) && n < maxUnits; n++ {
		split, err := u.t.unitHeader(s, from)
		if err != nil {
			return nil, err
		}
		from = split.end
		split.abbrevOffset, split.skeleton = split.abbrevOffset+abbrevAt, u
		u.splitUnits = append(u.splitUnits, split)
	}
	for _, split := range u.splitUnits {
		if split.kind == unitSplitType || split.version >= 5 && split.id != u.id {
			continue
		}
		if err := split.open(); err != nil {
			return nil, err
		}
		if split.id == u.id {
			return split, nil
		}
	}
	return nil, errOtherSplit
}

// splitSibling returns another unit of the split file, with an entry at an offset.
func (u *unit) splitSibling(off uint64) (*unit, uint64, error) {
	all := u.skeleton.splitUnits
	if off > ^uint64(0)-u.from.infoAt {
		return nil, 0, errRefNowhere
	}
	off += u.from.infoAt
	i := sort.Search(len(all), func(i int) bool { return all[i].end > off })
	if i == len(all) || off < all[i].first {
		return nil, 0, errRefNowhere
	}
	return all[i], off, all[i].open()
}
