package dwarfline

import (
	"debug/dwarf"
	"fmt"
	"sync/atomic"
)

// Unit types of DWARF 5, section 7.5.1.
const (
	unitCompile      = 0x01
	unitType         = 0x02
	unitSkeleton     = 0x04
	unitSplitCompile = 0x05
	unitSplitType    = 0x06
)

// languageGo is DW_LANG_Go. Go's own table knows Go's code better.
const languageGo = 0x16

// unit is a unit of .debug_info.
type unit struct {
	t *Table
	sizes
	start, first, end uint64 // of the header, the first entry, and behind the last
	kind              uint64
	id                uint64 // that ties a skeleton to its split unit; of a type unit, its signature
	typeAt            uint64 // of a type unit: the type's entry, counted from the unit
	abbrevOffset      uint64
	from              *sections

	opened  bool
	brief   bool  // no more abbreviations are read than the first entry needs
	err     error // why the unit is not used
	abbrevs *abbrevs
	root    *entry // of a unit that has been opened
	base    uint64 // the address that ranges count from
	dir     string // where there is no root: the folder that paths count from

	strOffsetsBase, addrBase, rnglistsBase, rangesBase, loclistsBase uint64

	split     splitUnits // of a skeleton
	skeleton  *unit      // of a split unit
	functions functions

	scopes     []scope // see readScopes
	scopesRead bool
}

// sections are those that a unit's values lie in. A split unit has some of its own.
type sections struct {
	info, abbrev, str, strOffsets, lineStr, addr, rnglists, ranges, line, loc, loclists *section
	infoAt, strOffsetsAt, rnglistsAt, loclistsAt                                        uint64 // where the unit's part begins, in a package
}

// ownSections are those of the file, which its units share.
func (t *Table) ownSections() *sections {
	if t.own == nil {
		t.own = t.readSections()
	}
	return t.own
}

func (t *Table) readSections() *sections {
	return &sections{
		info: t.section(".debug_info"), abbrev: t.section(".debug_abbrev"), str: t.section(".debug_str"),
		strOffsets: t.section(".debug_str_offsets"), lineStr: t.section(".debug_line_str"), addr: t.section(".debug_addr"),
		rnglists: t.section(".debug_rnglists"), ranges: t.section(".debug_ranges"), line: t.section(".debug_line"),
		loc: t.section(".debug_loc"), loclists: t.section(".debug_loclists"),
	}
}

// allUnits counts units of all files that are in use.
var allUnits atomic.Int64

// makeUnit counts a unit. It returns false where there are too many.
func (t *Table) makeUnit() bool {
	if t.made.Load() >= maxUnits {
		return false
	}
	if allUnits.Add(1) > maxSession {
		allUnits.Add(-1)
		return false
	}
	t.made.Add(1)
	return true
}

// unitHeader reads the header of the unit at off (DWARF 5, section 7.5.1). The error
// is that of its length, without which the next unit is not found either, or says that there are too many.
func (t *Table) unitHeader(from *sections, off uint64) (*unit, error) {
	if !t.makeUnit() {
		return nil, &SectionError{from.info.name, errTooManyUnits}
	}
	return t.readUnit(from, off)
}

// readUnit is unitHeader for a unit that is not kept.
func (t *Table) readUnit(from *sections, off uint64) (*unit, error) {
	info := from.info
	c := cursorAt(info, t.order, off, info.size())
	length, offsetSize := c.length()
	if c.err == nil && length > c.end-c.off {
		c.fail("a unit that is longer than the section")
	}
	if c.err != nil {
		return nil, c.err
	}
	u := &unit{t: t, start: off, end: c.off + length, from: from, kind: unitCompile}
	u.split.skeleton, u.functions.u = u, u
	u.offset, c.end = offsetSize, u.end
	c.loaded = min(c.loaded, c.end)
	u.err = u.readHeader(&c)
	u.first = c.off
	return u, nil
}

// readHeader reads what comes behind the length. What is invalid costs the unit.
func (u *unit) readHeader(c *cursor) error {
	u.version = int(c.uint(2))
	switch {
	case c.err != nil:
		return c.err
	case u.version < 2 || u.version > 5:
		return fmt.Errorf("version %d of DWARF", u.version)
	case u.version == 5:
		u.kind = c.u8()
		u.address = int(c.u8())
		u.abbrevOffset = c.uint(u.offset)
		u.readTypeHeader(c)
	default:
		u.abbrevOffset = c.uint(u.offset)
		u.address = int(c.u8())
		if u.from.info.name == debugTypes {
			u.kind = unitType
			u.readTypeHeader(c)
		}
	}
	if c.err == nil && u.address != 4 && u.address != 8 {
		return fmt.Errorf("addresses of %d bytes", u.address)
	}
	return c.err
}

// readTypeHeader reads what some types of units have more in their headers.
func (u *unit) readTypeHeader(c *cursor) {
	switch u.kind {
	case unitSkeleton, unitSplitCompile:
		u.id = c.uint(8)
	case unitType, unitSplitType:
		u.id = c.uint(8)
		u.typeAt = c.uint(u.offset)
	}
}

// cursor returns a cursor for the unit's entries from off on.
func (u *unit) cursor(off uint64) cursor { return cursorAt(u.from.info, u.t.order, off, u.end) }

// open reads the unit's first entry. What is invalid costs the unit.
func (u *unit) open() error {
	if u.opened || u.err != nil {
		return u.err
	}
	u.opened = true
	u.err = u.readRoot()
	return u.err
}

func (u *unit) readRoot() (err error) {
	if u.brief {
		c := u.cursor(u.first)
		u.abbrevs, err = readAbbrevs(cursorAt(u.from.abbrev, u.t.order, u.abbrevOffset, u.from.abbrev.size()), u.sizes, c.uleb())
	} else {
		u.abbrevs, err = u.t.abbrevsAt(u.from.abbrev, u.abbrevOffset, u.sizes)
	}
	if err != nil {
		return err
	}
	root, _, err := u.entryAt(u.first)
	u.root = &root
	if err != nil {
		return err
	}
	base := func(s slot, fallback uint64) uint64 {
		if n, ok := u.root.attrs[s].offset(); ok {
			return n
		}
		return fallback
	}
	split := u.isSplit()
	u.strOffsetsBase = base(atStrOffsetsBase, u.from.strOffsetsAt+u.implicitBase(split, 8, 16))
	u.rnglistsBase = base(atRnglistsBase, u.from.rnglistsAt+u.implicitBase(split, 12, 20))
	u.loclistsBase = base(atLoclistsBase, u.from.loclistsAt+u.implicitBase(split, 12, 20))
	u.addrBase = base(atAddrBase, u.implicitBase(true, 8, 16))
	u.rangesBase = base(atGNURangesBase, 0)
	if u.version < 5 && u.kind != unitType {
		u.id, _ = u.root.attrs[atDwoID].constant()
	}
	if k := u.skeleton; k != nil {
		u.addrBase, u.rangesBase, u.base = k.addrBase, k.rangesBase, k.base
	}
	if low := u.root.attrs[atLowPC]; low.isAddress() {
		u.base, err = u.addressOf(low)
	}
	return err
}

// forget drops what open has read. Most units of a file may be types or parts that are asked for rarely, if ever.
func (u *unit) forget() {
	if u.err == nil {
		u.opened, u.root = false, nil
	}
}

// implicitBase is where a split unit's part of a section begins behind its header,
// which no attribute says (DWARF 5, section 7.26 to 7.29). Version 4 has no
// headers there.
func (u *unit) implicitBase(split bool, short, long uint64) uint64 {
	switch {
	case !split || u.version < 5:
		return 0
	case u.offset == 8:
		return long
	}
	return short
}

// compDir is the folder that paths count from. Without it they are relative, as the file has them.
func (u *unit) compDir() string {
	v := u.root.attrs[atCompDir]
	if v.absent() {
		return u.dir
	}
	dir, _ := u.text(v)
	return dir
}

func (u *unit) isSplit() bool { return u.from.info.size() > 0 && u.from.info.name == ".debug_info.dwo" }

// describesCode says whether the unit can have functions with addresses of code
// that is not Go's.
func (u *unit) describesCode() bool {
	if u.kind == unitType || u.kind == unitSplitType {
		return false
	}
	if language, _ := u.root.attrs[atLanguage].constant(); language == languageGo {
		return false
	}
	return u.root.tag == dwarf.TagCompileUnit || u.root.tag == dwarf.TagSkeletonUnit
}

// entryAt reads the entry at an offset in the section, and says whether it has
// children.
func (u *unit) entryAt(off uint64) (e entry, children bool, err error) {
	if off < u.first || off >= u.end {
		return e, false, &FormatError{u.from.info.name, off, "an entry outside its unit"}
	}
	c := u.cursor(off)
	a := u.abbrev(&c)
	if a == nil {
		if c.err == nil {
			c.fail("no entry, but the end of a list of them")
		}
		return e, false, c.err
	}
	c.readEntry(off, a, u.sizes, &e)
	return e, a.children, c.err
}

// abbrev reads an entry's code; nil is the end of a list of entries, or an error.
func (u *unit) abbrev(c *cursor) *abbrev {
	at := c.off
	code := c.uleb()
	if code == 0 || c.err != nil {
		return nil
	}
	a := u.abbrevs.find(code)
	if a == nil {
		c.off = at
		c.fail(fmt.Sprintf("abbreviation %d, which the unit does not have", code))
	}
	return a
}
