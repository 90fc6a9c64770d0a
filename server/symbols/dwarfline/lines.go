package dwarfline

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"sort"
)

// lineTable is a unit's line table. Names of files are read when they are asked for.
type lineTable struct {
	u       *unit // that the strings are of
	s       *section
	version int
	sizes   sizes
	compDir string
	folders []value
	files   []lineFile
	paths   map[uint64]string

	rows      []row
	sequences []sequence // by start
	// each is called for every sequence, with its rows and where the last of them ends, where
	// the table is searched and not kept. It is nil otherwise.
	each func(rows []row, end uint64)
}

type lineFile struct {
	name   value
	folder uint64
}

// row holds from its address up to the next row's.
type row struct {
	addr   uint64
	file   uint32
	line   uint32
	column uint32
	flags  uint8
}

// What is known of a row.
const (
	isStatement  = 1 << iota // a good place for a breakpoint
	endsPrologue             // arguments are stored here
)

// sequence is rows whose code lies together.
type sequence struct {
	low, high  uint64
	reach      uint64 // the highest end of this sequence and all before it
	begin, end int    // in rows
	checked    bool   // see checkLines
	back       bool   // the table does not have its rows in the order of addresses
}

// lineTable returns the unit's line table, nil if it has none. Units may share one.
func (u *unit) lineTable() (*lineTable, error) {
	off, ok := u.root.attrs[atStmtList].offset()
	if !ok {
		return nil, nil
	}
	if t, ok := u.t.lines[off]; ok {
		return t, nil
	}
	t, err := u.readLines(off)
	u.t.lines[off] = t // nil: an error is named once
	return t, err
}

// file returns the path of a file, "" if the table does not have it.
func (t *lineTable) file(i uint64) string {
	if t.version < 5 {
		i-- // 0 is no file
	}
	if i >= uint64(len(t.files)) {
		return ""
	}
	if path, ok := t.paths[i]; ok {
		return path
	}
	path := t.path(&t.files[i])
	t.paths[i] = path
	return path
}

// hasFile says whether the table has a file of a number.
func (t *lineTable) hasFile(i uint64) bool {
	if t.version < 5 {
		i--
	}
	return i < uint64(len(t.files))
}

func (t *lineTable) path(f *lineFile) string {
	name, err := t.text(f.name)
	if err != nil || name == "" {
		return ""
	}
	i := f.folder
	if t.version < 5 {
		if i == 0 {
			return join(t.compDir, name)
		}
		i--
	}
	if i >= uint64(len(t.folders)) {
		return name
	}
	folder, err := t.text(t.folders[i])
	switch {
	case err != nil:
		return name
	case t.version >= 5 && i == 0 && folder != "": // the folder of compilation itself (DWARF 5, section 6.2.4)
		return join(folder, name)
	}
	return join(join(t.compDir, folder), name)
}

// text returns a string of the table, which has its own section for those within.
func (t *lineTable) text(v value) (string, error) {
	if v.form == formString {
		return t.s.text(v.n)
	}
	return t.u.text(v)
}

// find returns the place of an instruction: the last row at or before its address in
// the sequence. Line 0 means that there is none.
func (t *lineTable) find(addr uint64) (at Call, ok bool) {
	s := t.sequenceAt(addr)
	if s == nil {
		return at, false
	}
	r := t.rows[s.begin+t.written(t.upTo(s, addr))]
	return Call{File: t.file(uint64(r.file)), Line: int(r.line), Column: int(r.column)}, true
}

// sequenceAt returns the sequence with an address, nil if there is none.
func (t *lineTable) sequenceAt(addr uint64) *sequence {
	if t == nil {
		return nil
	}
	for i := t.before(addr); i >= 0 && t.sequences[i].reach > addr; i-- {
		if s := &t.sequences[i]; addr < s.high {
			return s
		}
	}
	return nil
}

// upTo returns a sequence's rows at or before an address.
func (t *lineTable) upTo(s *sequence, addr uint64) []row {
	rows := t.rows[s.begin:s.end]
	return rows[:sort.Search(len(rows), func(i int) bool { return rows[i].addr > addr })]
}

// before returns the index of the last sequence that begins at or before an address, -1 for none.
func (t *lineTable) before(addr uint64) int {
	return sort.Search(len(t.sequences), func(i int) bool { return t.sequences[i].low > addr }) - 1
}

// prolog is the file that cgo names in its code before C functions.
const prolog = "cgo-gcc-prolog"

// written returns the index of the row that counts, which is the last of them.
//
// Situation: the compiler puts a C function into cgo's code before it, and several rows have
// one address: of the function, and of a file that is nowhere. Example: a static function at
// -O2. The row of the function counts. Test: TestPrologRow.
func (t *lineTable) written(rows []row) int {
	last := len(rows) - 1
	for i := last; i >= 0 && rows[i].addr == rows[last].addr; i-- {
		if path.Base(t.file(uint64(rows[i].file))) != prolog {
			return i
		}
	}
	return last
}

// close ends the sequence that began with row begin. Code that the linker has
// dropped keeps its rows.
func (t *lineTable) close(begin int, end uint64, dropped func(uint64) bool) {
	rows := t.rows[begin:]
	ordered := slices.IsSortedFunc(rows, compareRows) && (len(rows) == 0 || rows[len(rows)-1].addr <= end)
	if !ordered {
		slices.SortStableFunc(rows, compareRows)
	}
	if len(rows) == 0 || dropped(rows[0].addr) || end <= rows[0].addr {
		t.rows = t.rows[:begin]
		return
	}
	if t.each != nil {
		t.each(rows, end)
		t.rows = t.rows[:begin]
		return
	}
	t.sequences = append(t.sequences, sequence{low: rows[0].addr, high: end, begin: begin, end: len(t.rows), back: !ordered})
}

func compareRows(a, b row) int { return cmp.Compare(a.addr, b.addr) }

func (t *lineTable) sort() {
	slices.Reverse(t.sequences) // of those that begin together the first counts, as of functions
	slices.SortStableFunc(t.sequences, func(a, b sequence) int { return cmp.Compare(a.low, b.low) })
	reach := uint64(0)
	for i := range t.sequences {
		reach = max(reach, t.sequences[i].high)
		t.sequences[i].reach = reach
	}
}

// add adds a row.
func (t *lineTable) add(c *cursor, m *machine) {
	if len(t.rows) == maxRows {
		c.fail(fmt.Sprintf("the line table is left out: it has more than %d rows", maxRows))
		return
	}
	t.rows = append(t.rows, row{m.addr, clip(m.file), clip(m.line), clip(m.column), m.flags})
	m.flags &^= endsPrologue
}

// clip returns a number that a row has room for; one that no source has is 0.
func clip(n uint64) uint32 {
	if n > math.MaxInt32 {
		return 0
	}
	return uint32(n)
}

// readLines reads the line table at off (DWARF 5, section 6.2.4). One that breaks off
// tells nothing for certain: no rows of it count.
func (u *unit) readLines(off uint64) (*lineTable, error) {
	t, m, c, err := u.openLinesAt(off)
	if err != nil {
		return nil, err
	}
	m.run(c, t)
	if c.err != nil {
		return nil, c.err
	}
	t.sort()
	return t, nil
}

// openLines opens the unit's line table.
func (u *unit) openLines() (*lineTable, *machine, *cursor, error) {
	off, _ := u.root.attrs[atStmtList].offset()
	return u.openLinesAt(off)
}

// openLinesAt reads the header of the line table at off. The machine reads the rest from the cursor.
func (u *unit) openLinesAt(off uint64) (*lineTable, *machine, *cursor, error) {
	s := u.from.line
	c := cursorAt(s, u.t.order, off, s.size())
	length, offsetSize := c.length()
	if c.err == nil && length > c.end-c.off {
		c.fail("a line table that is longer than the section")
	}
	if c.err != nil {
		return nil, nil, nil, c.err
	}
	c.end = c.off + length
	c.loaded = min(c.loaded, c.end)
	t := &lineTable{u: u, s: s, compDir: u.compDir(), paths: make(map[uint64]string)}
	m := t.readHeader(&c, offsetSize)
	m.dropped = u.dropped
	return t, m, &c, c.err
}

// readHeader reads what comes behind the length, up to the program.
func (t *lineTable) readHeader(c *cursor, offsetSize int) *machine {
	t.readSizes(c, offsetSize)
	n := c.uint(offsetSize)
	program := c.off + n
	if n > c.end-c.off {
		c.fail("a header that is longer than the table")
	}
	m := newMachine(c, t.version)
	if t.version >= 5 {
		t.readFiles5(c)
	} else {
		t.readFiles4(c)
	}
	if c.err == nil && program < c.off {
		c.fail("a program within the header")
	}
	if c.err == nil {
		c.skip(program - c.off)
	}
	return m
}

// readSizes reads the version, and the sizes that it has.
func (t *lineTable) readSizes(c *cursor, offsetSize int) {
	t.version = int(c.uint(2))
	t.sizes = sizes{version: t.version, address: t.u.address, offset: offsetSize}
	if c.err == nil && (t.version < 2 || t.version > 5) {
		c.fail(fmt.Sprintf("version %d of line tables", t.version))
	}
	if t.version >= 5 {
		t.sizes.address = int(c.u8())
		if c.u8() != 0 {
			c.fail("addresses with segments")
		}
	}
}

// readFiles4 reads folders and files up to version 4.
func (t *lineTable) readFiles4(c *cursor) {
	for c.err == nil {
		at := c.text()
		if c.off-at <= 1 {
			break
		}
		t.folders = append(t.folders, value{formString, at})
		if len(t.folders) > maxFiles {
			c.fail("too many folders")
		}
	}
	for c.err == nil {
		at := c.text()
		if c.off-at <= 1 {
			break
		}
		t.addFile(c, at)
	}
}

// addFile adds a file with its name at an offset. Size and time follow.
func (t *lineTable) addFile(c *cursor, at uint64) {
	if len(t.files) == maxFiles {
		c.fail("too many files")
		return
	}
	t.files = append(t.files, lineFile{value{formString, at}, c.uleb()})
	c.uleb()
	c.uleb()
}

// What an item of a file's description is (DWARF 5, section 6.2.4.1).
const (
	contentPath   = 1
	contentFolder = 2
)

// readFiles5 reads folders and files of version 5.
func (t *lineTable) readFiles5(c *cursor) {
	t.readList(c, func(f lineFile) { t.folders = append(t.folders, f.name) })
	t.readList(c, func(f lineFile) { t.files = append(t.files, f) })
}

func (t *lineTable) readList(c *cursor, add func(lineFile)) {
	var format []field
	var kinds []uint64
	for range c.u8() {
		kinds = append(kinds, c.uleb())
		f := form(min(c.uleb(), 0xffff))
		format = append(format, field{form: f, layout: t.sizes.layoutOf(f)})
	}
	n := c.uleb()
	if n > maxFiles || n > c.end-c.off {
		c.fail("too many files")
	}
	for i := uint64(0); i < n && c.err == nil; i++ {
		var f lineFile
		for j := range format {
			v := c.field(t.sizes, &format[j])
			switch kinds[j] {
			case contentPath:
				f.name = v
			case contentFolder:
				f.folder = v.n
			}
		}
		add(f)
	}
}
