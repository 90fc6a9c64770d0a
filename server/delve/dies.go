package delve

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	pdwarf "github.com/go-delve/delve/pkg/dwarf"
	"github.com/go-delve/delve/pkg/dwarf/godwarf"
)

// checkInfo looks for debugging information that Delve does not survive. It reads it in a goroutine of its own
// (pkg/proc/bininfo.go, loadDebugInfoMaps), where a panic ends the process: where the entries of the last function
// have no end, where a unit's header is cut off, where a unit names a place between two line tables. It never comes
// back from a number without an end, or from units that import each other. tables are the line tables by
// their offsets, of size bytes together.
//
// The entries are read as debug/dwarf does, but nothing is kept of them.
func checkInfo(in infoSections, tables map[uint64]lineTable, size int) (err error) {
	if in.info == nil || in.abbrev == nil {
		return nil // Delve cannot read it either
	}
	defer func() {
		if recover() != nil {
			err = errors.New("a header of a unit in .debug_info is damaged")
		}
	}()
	if n := countUnits(in.info, in.order); n > maxUnits {
		return fmt.Errorf(".debug_info has more than %d units", maxUnits)
	}
	pdwarf.ReadUnitVersions(in.info) // as Delve does first
	c := infoCheck{
		whole: in.info, lineTables: tables, lines: uint64(size), roots: map[uint64]root{},
		abbrevs:    abbrevs{text: in.abbrev, order: in.order, tables: map[uint64][]abbrev{}, others: map[uint64]map[uint64]abbrev{}},
		attributes: 2*len(in.info) + 1<<20, kept: 1<<20 + in.stored/4,
	}
	c.die.order = in.order
	c.circles, c.reads, c.types = newCircles(in.info), in.reads, newTypeGraph(in.info)
	for c.at = 0; c.at < uint64(len(in.info)); {
		switch err := c.readUnit(); {
		case c.unknown:
			return errUnknownForm
		case err != nil:
			return fmt.Errorf(".debug_info at offset %#x: %w", c.at, err)
		}
	}
	if err := c.checkImports(); err != nil {
		return err
	}
	if err := c.checkTargets(); err != nil {
		return err
	}
	if err := c.types.finish(); err != nil {
		return err
	}
	return c.checkCircles()
}

// maxUnits bounds the units of a file: Delve and debug/dwarf keep about 200 bytes of each, the check as many while it
// runs, and 13 bytes of a file make one. LLVM's libraries have a million, one for each type.
const maxUnits = 1 << 20

// countUnits counts the units by their lengths, up to one too many.
func countUnits(info []byte, order binary.ByteOrder) (n int) {
	for d := (die{data: info, order: order}); len(d.data) > 0 && n <= maxUnits; n++ {
		size := d.number(4)
		if size == math.MaxUint32 {
			size = d.number(8)
		}
		d.skip(size)
	}
	return n
}

// infoSections are those with the entries.
type infoSections struct {
	info, abbrev []byte // nil where they cannot be read
	order        binary.ByteOrder
	stored       int // bytes of the file that .debug_info takes
	reads        reads
}

// readInfo reads them from a file of which so many bytes are stored.
func readInfo(f *elf.File, stored int64) infoSections {
	others := make(chan reads, 1)
	go func() { others <- newReads(f, uint64(max(stored, 0))) }()
	info, _ := godwarf.GetDebugSectionElf(f, "info")
	abbrev, _ := godwarf.GetDebugSectionElf(f, "abbrev")
	return infoSections{info, abbrev, f.ByteOrder, storedSize(f, "info"), <-others}
}

// storedSize is what a debug section takes of the file.
func storedSize(f *elf.File, name string) int {
	for _, s := range f.Sections {
		if s.Name == ".debug_"+name || s.Name == ".zdebug_"+name {
			return int(min(s.FileSize, math.MaxInt32))
		}
	}
	return 0
}

// infoCheck is the check of a section.
type infoCheck struct {
	die
	abbrevs
	circles    circles
	types      typeGraph
	unlined    unlined
	part       int32 // the type that the entry is a part of
	reads      reads
	whole      []byte
	at         uint64 // the offset of the unit, or where something is wrong
	base       uint64 // what references of the unit count from
	lineTables map[uint64]lineTable
	lines      uint64     // size of .debug_line
	table      *lineTable // of the entry
	open       []openEntry
	roots      map[uint64]root // by the offset of a unit's first entry
	owner      uint64          // the root that is being read
	units      []unitAt
	// How many there may still be; kept are entries that Delve keeps.
	attributes, kept int
}

// unitAt is where a unit's entries are, and what its references count from.
type unitAt struct {
	unit
	base, first, end uint64
}

// openEntry is one whose children are being read.
type openEntry struct {
	tag, sibling uint64
	part         int32
}

// root is a unit's first entry.
type root struct {
	partial, ended bool
	cost           uint64   // bytes that Delve reads or keeps of the unit
	imports        []uint64 // offsets of entries
}

var (
	// errUnknownForm says that debug/dwarf does not read the section at all: Delve looks for a debug file then.
	errUnknownForm = errors.New("an unknown form")

	errDamaged   = errors.New("an entry is damaged")
	errNoEnd     = errors.New("a function has no end")
	errTooDeep   = errors.New("the entries are nested too deep")
	errTooMany   = errors.New("it claims too many entries or attributes")
	errSibling   = errors.New("an entry does not end where it says")
	errNoTable   = errors.New("a unit's line table does not begin where it says")
	errBadImport = errors.New(".debug_info: a unit imports what is no unit, or itself")
)

// The attributes, tags and forms that are looked at (DWARF 5, sections 7.5.4 to 7.5.6).
const (
	attrSibling, attrStmtList, attrImport, attrRanges = 0x01, 0x10, 0x18, 0x55
	attrOrigin, attrSpecification, attrType           = 0x31, 0x47, 0x49
	attrName, attrLow                                 = 0x03, 0x11
	attrOffsetsBase, attrListsBase                    = 0x72, 0x74
	formImplicitConst, formIndirect, formRefAddr      = 0x21, 0x16, 0x10
	maxCode                                           = math.MaxUint32 // as debug/dwarf has it
)

// maxNested bounds how deep entries are nested: Delve reads them by recursion.
const maxNested = 4096

// readUnit reads a unit, as debug/dwarf does: a length of 0 counts for nothing.
func (c *infoCheck) readUnit() error {
	rest := die{data: c.whole[c.at:], order: c.die.order}
	offset, size := 4, rest.number(4)
	if size == math.MaxUint32 {
		offset, size = 8, rest.number(8)
	}
	if rest.bad || size > uint64(len(rest.data)) {
		return errDamaged
	}
	next := uint64(len(c.whole)-len(rest.data)) + size
	c.data, c.bad = rest.data[:size], false
	if size > 0 {
		c.header(offset)
		if c.bad || !c.load(c.unit.table) {
			return errDamaged
		}
		c.owner = next - uint64(len(c.data))
		c.roots[c.owner] = root{}
		c.units = append(c.units, unitAt{c.unit, c.base, c.owner, next})
		spent, kept := c.reads.spent, c.kept
		if err := c.entries(next); err != nil {
			return err
		}
		if err := errors.Join(c.types.leave(c.owner, next), c.unlined.leave()); err != nil {
			return err
		}
		r := c.roots[c.owner]
		r.cost = size + c.reads.spent - spent + keptSize*uint64(kept-c.kept)
		c.roots[c.owner] = r
		c.base = next
	}
	c.at = next
	return nil
}

// header reads the rest of a unit's header (section 7.5.1).
func (c *infoCheck) header(offset int) {
	c.unit = unit{version: c.number(2), offset: offset}
	kind := uint64(0)
	if c.unit.version >= 5 {
		kind, c.unit.addr = c.number(1), int(c.number(1))
	}
	if c.unit.version < 2 || c.unit.version > 5 {
		c.fail()
	}
	c.unit.table = c.number(offset)
	if c.unit.version < 5 {
		c.unit.addr = int(c.number(1))
	}
	switch kind {
	case 4, 5: // skeleton, split_compile
		c.skip(8)
	case 2, 6: // type, split_type
		c.skip(8 + uint64(offset))
	}
}

// keptSize is about what Delve keeps for a function or a variable, in bytes.
const keptSize = 128

// entries reads the entries of a unit that ends at an offset.
func (c *infoCheck) entries(end uint64) error {
	c.open = c.open[:0]
	c.findBases()
	for len(c.data) > 0 {
		at := end - uint64(len(c.data))
		if err := c.entry(at, end); err != nil {
			c.at = at
			return err
		}
	}
	for _, o := range c.open {
		if dwarf.Tag(o.tag) == dwarf.TagSubprogram {
			return errNoEnd
		}
	}
	r := c.roots[c.owner]
	r.ended = len(c.open) == 0
	c.roots[c.owner] = r
	return nil
}

// entry reads an entry, or the end of a list of children.
func (c *infoCheck) entry(at, end uint64) error {
	c.types.starts.set(at)
	code := c.leb() & maxCode
	if code == 0 && !c.bad {
		return c.close(end - uint64(len(c.data)))
	}
	a, ok := c.lookup(c.unit.table, code)
	if c.bad || !ok {
		return errDamaged
	}
	if tag := dwarf.Tag(a.tag); len(c.open) > 0 && (tag == dwarf.TagCompileUnit || tag == dwarf.TagPartialUnit) {
		return errDamaged // from a unit's entry debug/dwarf goes on to the next unit, past the ends of what is around it
	}
	if err := c.count(a, at); err != nil {
		return err
	}
	var sibling uint64
	around := int32(noType)
	if n := len(c.open); n > 0 {
		around = c.open[n-1].part
	}
	c.part = c.types.enter(at, dwarf.Tag(a.tag), around)
	if a.size != varies {
		c.skip(a.size)
	} else if err := c.fields(a, at, &sibling); err != nil {
		return err
	}
	if c.bad {
		return errDamaged
	}
	if a.children {
		if len(c.open) == maxNested {
			return errTooDeep
		}
		if sibling < end-uint64(len(c.data)) {
			sibling = 0 // debug/dwarf does not go back
		}
		if !consists(dwarf.Tag(a.tag)) {
			c.part = noType
		}
		c.open = append(c.open, openEntry{a.tag, sibling, c.part})
	}
	return nil
}

// close ends a list of children.
func (c *infoCheck) close(at uint64) error {
	if len(c.open) == 0 {
		return nil
	}
	top := c.open[len(c.open)-1]
	c.open = c.open[:len(c.open)-1]
	if top.sibling != 0 && top.sibling != at {
		return errSibling
	}
	return nil
}

// count counts what Delve takes memory for.
func (c *infoCheck) count(a *abbrev, at uint64) error {
	c.attributes -= len(a.fields)
	c.unlined.note(a, at == c.owner)
	tag := dwarf.Tag(a.tag)
	switch tag {
	case dwarf.TagPartialUnit:
		if r, ok := c.roots[at]; ok {
			r.partial = true
			c.roots[at] = r
		}
	case dwarf.TagSubprogram, dwarf.TagInlinedSubroutine, dwarf.TagVariable, dwarf.TagCompileUnit, dwarf.TagConstant:
		c.kept--
	}
	if c.attributes < 0 || c.kept < 0 {
		return errTooMany
	}
	return nil
}

// fields reads the attributes of an entry.
func (c *infoCheck) fields(a *abbrev, at uint64, sibling *uint64) error {
	c.table, c.reads.longest = nil, 0
	spent, left := c.reads.spent, len(c.data)
	for _, f := range a.fields {
		if err := c.field(a, f, at, sibling); err != nil {
			return err
		}
	}
	c.types.grow(c.part, uint64(left-len(c.data))+c.reads.spent-spent)
	if at == c.owner {
		c.reads.root = uint64(left-len(c.data)) + c.reads.spent - spent
	}
	if c.table != nil {
		c.reads.spend(c.table.cost(c.reads.longest))
	}
	return c.reads.over()
}

// field reads the value of an attribute of the entry at an offset.
func (c *infoCheck) field(a *abbrev, f field, at uint64, sibling *uint64) error {
	if f.form == formIndirect {
		f.form = c.leb()
	}
	c.reads.blank = true
	v, class := c.value(f.form)
	if class == reference && refers(f.attr) {
		c.types.refer(c.part, f.attr, c.target(f.form, v))
	}
	if f.attr == attrStmtList && at == c.owner {
		_, there := c.lineTables[v]
		c.unlined.table(there && class == constant)
	}
	switch {
	case class == unknownForm:
		return errDamaged
	case f.attr == attrName && consists(dwarf.Tag(a.tag)):
		c.types.nodes[c.part].call(!c.reads.blank)
	case class == reference && leading(a.tag, f.attr):
		c.circles.lead(at, c.target(f.form, v))
	case f.attr == attrRanges && (class == constant || class == list):
		c.reads.ranged(v, &c.unit, len(c.open))
	case f.attr == attrSibling && class == reference:
		*sibling = c.target(f.form, v)
	case f.attr == attrImport && class == reference && dwarf.Tag(a.tag) == dwarf.TagImportedUnit:
		r := c.roots[c.owner]
		r.imports = append(r.imports, c.target(f.form, v))
		c.roots[c.owner] = r
	case f.attr == attrStmtList && class == constant && dwarf.Tag(a.tag) == dwarf.TagCompileUnit:
		if table, ok := c.lineTables[v]; ok {
			c.table = &table
		} else if v < c.lines {
			return errNoTable
		}
	}
	return nil
}

// findBases looks in a unit's first entry for what offsets of the unit count from.
func (c *infoCheck) findBases() {
	before := c.die
	defer func() { c.die = before }()
	c.reads.base, c.reads.root = bases{}, 0
	a, ok := c.lookup(c.unit.table, c.leb()&maxCode)
	if !ok || c.unit.version < 5 {
		return
	}
	spent := c.reads.spent
	defer func() { c.reads.spent = spent }()
	var found bases
	for _, f := range a.fields {
		if f.form == formIndirect {
			f.form = c.leb()
		}
		switch v, class := c.value(f.form); {
		case class == constant && f.attr == attrOffsetsBase:
			found.offsets = v
		case class == constant && f.attr == attrListsBase:
			found.lists = v
		}
	}
	c.reads.base = found
}
