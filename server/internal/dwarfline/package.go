package dwarfline

import "encoding/binary"

// Sections in a package's index (DWARF 5, section 7.3.5.3; version 2 is GCC's
// DebugFissionDWP, which has no range lists).
const (
	packInfo       = 1
	packAbbrev     = 3
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

// fromPackage returns the unit's split unit from the package, nil if there is no
// package or it does not have the unit.
func (u *unit) fromPackage() (*unit, error) {
	p, err := u.t.openPackage()
	if p == nil || err != nil {
		return nil, err
	}
	row, ok := p.rows[u.id]
	if !ok {
		return nil, nil
	}
	s := u.splitSections(p.t)
	s.strOffsetsAt, s.rnglistsAt = row.at[packStrOffsets], row.at[packRnglists]
	begin := row.at[packInfo]
	return u.findSplit(s, row.at[packAbbrev], begin, begin+row.size[packInfo])
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

// readIndex reads the index of units.
func readIndex(s *section, order binary.ByteOrder) (map[uint64]contribution, error) {
	c := cursorAt(s, order, 0, s.size())
	version := c.uint(4)
	if order == binary.BigEndian && version>>16 == 5 { // 2 bytes, and 2 unused
		version = 5
	}
	columns, units, slots := c.uint(4), c.uint(4), c.uint(4)
	if c.err == nil && (version != 2 && version != 5 || columns == 0 || columns > maxColumns || slots > maxUnits || units > slots) {
		c.fail("an invalid header of an index of units")
	}
	ids, numbers := c, c
	numbers.skip(8 * slots)
	c.skip(12 * slots)
	kinds := make([]uint64, 0, maxColumns)
	for range columns {
		if c.err == nil {
			kinds = append(kinds, c.uint(4))
		}
	}
	begin := c.off
	rows := make(map[uint64]contribution)
	for i := uint64(0); i < slots && c.err == nil; i++ {
		id, number := ids.uint(8), numbers.uint(4)
		if number == 0 {
			continue
		}
		if number > units {
			c.fail("an index of units with a row that it does not have")
			break
		}
		var one contribution
		read := func(into *[packRnglists + 1]uint64, table uint64) {
			row := cursorAt(s, order, min(begin+4*columns*(table*units+number-1), s.size()), s.size())
			for _, kind := range kinds {
				if n := row.uint(4); kind <= packRnglists {
					into[kind] = n
				}
			}
			if row.err != nil && c.err == nil {
				c.err = row.err
			}
		}
		read(&one.at, 0)
		read(&one.size, 1)
		if version == 2 { // where 8 is .debug_macro
			one.at[packRnglists], one.size[packRnglists] = 0, 0
		}
		rows[id] = one
	}
	return rows, c.err
}
