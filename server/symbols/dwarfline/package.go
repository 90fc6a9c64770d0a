package dwarfline

import "encoding/binary"

// Sections in a package's index (DWARF 5, section 7.3.5.3; version 2 is GCC's
// DebugFissionDWP, which has no range lists).
const (
	packInfo       = 1
	packAbbrev     = 3
	packLoclists   = 5 // in version 2, .debug_loc
	packStrOffsets = 6
	packRnglists   = 8
)

// maxColumns is how many sections a package's index may list.
const maxColumns = 32

// dwpFile is a package of split units.
type dwpFile struct {
	t    *Table
	rows map[uint64]contribution // by the units' IDs
}

// contribution says where a unit's parts of the package's sections are.
type contribution struct {
	at, size [packRnglists + 1]uint64
}

// fromPackage returns the split unit from the package, nil if there is no
// package or it does not have the unit.
func (s *splitUnits) fromPackage() (*unit, error) {
	p, err := s.skeleton.t.openPackage()
	if p == nil || err != nil {
		return nil, err
	}
	row, ok := p.rows[s.skeleton.id]
	if !ok {
		return nil, nil
	}
	in := s.sections(p.t)
	in.strOffsetsAt, in.rnglistsAt, in.loclistsAt = row.at[packStrOffsets], row.at[packRnglists], row.at[packLoclists]
	begin := row.at[packInfo]
	return s.find(in, row.at[packAbbrev], begin, begin+row.size[packInfo])
}

// openPackage opens the package, once.
func (t *Table) openPackage() (*dwpFile, error) {
	if t.packRead || t.src.Package == nil {
		return t.pack, nil
	}
	t.packRead = true
	src, err := t.src.Package()
	if src == nil || err != nil {
		return nil, err
	}
	own := newTable(src, t.budget)
	rows, err := readIndex(own.section(".debug_cu_index"), own.order)
	if err != nil {
		return nil, err
	}
	t.pack = &dwpFile{own, rows}
	return t.pack, nil
}

// index is the header of a package's index of units.
type index struct {
	version               uint64
	columns, units, slots uint64
	kinds                 []uint64 // of the columns: which sections
	begin                 uint64   // where the table of offsets begins; that of sizes is behind it
}

// readIndex reads the index of units: a hash table of their IDs with the numbers of
// rows, then the rows' offsets, then their sizes.
func readIndex(s *section, order binary.ByteOrder) (map[uint64]contribution, error) {
	c := cursorAt(s, order, 0, s.size())
	x := readIndexHeader(&c)
	ids, numbers := c, c
	numbers.skip(8 * x.slots)
	c.skip(12 * x.slots)
	for range x.columns {
		x.kinds = append(x.kinds, c.uint(4))
	}
	x.begin = c.off
	rows := make(map[uint64]contribution)
	for i := uint64(0); i < x.slots && c.err == nil; i++ {
		id, number := ids.uint(8), numbers.uint(4)
		switch {
		case number > x.units:
			c.fail("an index of units with a row that it does not have")
		case number > 0:
			rows[id] = x.row(&c, number-1)
		}
	}
	return rows, c.err
}

func readIndexHeader(c *cursor) (x index) {
	x.version = c.uint(4)
	if c.order == binary.BigEndian && x.version>>16 == 5 { // 2 bytes, and 2 unused
		x.version = 5
	}
	x.columns, x.units, x.slots = c.uint(4), c.uint(4), c.uint(4)
	known := x.version == 2 || x.version == 5
	if !known || x.columns == 0 || x.columns > maxColumns || x.slots > maxUnits || x.units > x.slots {
		c.fail("an invalid header of an index of units")
		return index{}
	}
	return x
}

// row reads what the unit in a row has of each section.
func (x *index) row(c *cursor, number uint64) (one contribution) {
	for table, into := range []*[packRnglists + 1]uint64{&one.at, &one.size} {
		off := x.begin + 4*x.columns*(uint64(table)*x.units+number)
		row := cursorAt(c.s, c.order, min(off, c.s.size()), c.s.size())
		for _, kind := range x.kinds {
			if n := row.uint(4); kind <= packRnglists {
				into[kind] = n
			}
		}
		if row.err != nil && c.err == nil {
			c.err = row.err
		}
	}
	if x.version == 2 { // where 8 is .debug_macro
		one.at[packRnglists], one.size[packRnglists] = 0, 0
	}
	return one
}
