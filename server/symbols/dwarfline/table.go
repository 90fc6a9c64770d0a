package dwarfline

import (
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Call is a function that an instruction belongs to, and the place in it.
type Call struct {
	Linkage string // the name that the linker knows, mangled; "" if there is none
	Name    string // the name in the source; "" if it is not known
	Scope   string // what stands before Name: "std::"; it is known where there is no Linkage, or one of D's
	File    string // "" if it is not known
	Line    int    // 0 if it is not known
	Column  int    // 0 if it is not known
	Inlined bool   // into the next one
	// Function says that DWARF has an entry of the function; else it has a line alone.
	Function bool
}

// Table is the DWARF of one file. Nothing is read before it is asked for. It is
// safe for concurrent use.
type Table struct {
	mu     sync.Mutex
	src    *Source
	order  binary.ByteOrder
	budget *uint64 // bytes that sections may still take, of the files that belong to this one too

	opened   map[string]*section
	own      *sections        // nil: not opened yet
	units    map[uint64]*unit // by the offset of their headers
	made     *atomic.Int64    // units, of split files too
	listed   []*unit          // as far as they have been listed, by offset
	listedTo uint64           // the offset up to which they have been

	aranges *spans // of .debug_aranges; nil: not read yet
	spans   *spans // of the units' own ranges

	abbrevs map[abbrevKey]*abbrevs
	lines   map[uint64]*lineTable
	names   map[nameKey]names
	// rangesRead counts entries of lists of ranges, for what is read once.
	rangesRead int
	prefixes   map[nameKey]string // of what lies in a scope

	heads     []head // see readHeads
	headsRead bool

	types     map[uint64]*unit // by their signatures; nil: not listed yet
	alternate *Table           // nil: not opened yet, or there is none
	altErr    error
	altOpened bool
	pack      *dwpFile
	packRead  bool

	kept any // a reader's: see [Table.Keep]

	problems []error
	named    map[string]bool
}

type abbrevKey struct {
	s    *section
	off  uint64
	size sizes
}

// New returns the table of a file.
func New(src *Source) *Table {
	budget := uint64(maxLoaded)
	return newTable(src, &budget)
}

func newTable(src *Source, budget *uint64) *Table {
	order := src.Order
	if order == nil {
		order = binary.LittleEndian
	}
	t := &Table{
		made: new(atomic.Int64),
		src:  src, order: order, budget: budget,
		opened: make(map[string]*section), units: make(map[uint64]*unit),
		abbrevs: make(map[abbrevKey]*abbrevs), lines: make(map[uint64]*lineTable), names: make(map[nameKey]names), prefixes: make(map[nameKey]string),
		named: make(map[string]bool),
	}
	// A session that goes from program to program has room for each.
	runtime.AddCleanup(t, func(made *atomic.Int64) { allUnits.Add(-made.Load()) }, t.made)
	return t
}

// Calls returns the functions that the instruction at addr belongs to, the innermost
// first; the last is the one that is not inlined. Where DWARF knows a line but no
// function it is one call without names. The error is [ErrUnknown] where no unit
// describes the address; what is wrong with units that could describe it
// [Table.Problems] says.
func (t *Table) Calls(addr uint64) ([]Call, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var line []Call // of a unit without a function at the address
	for u := range t.unitsAt(addr) {
		calls, err := u.calls(addr)
		switch {
		case err == nil && calls[0].Function:
			return calls, nil
		case err == nil && line == nil:
			line = calls
		case err != nil && !errors.Is(err, ErrUnknown):
			t.problem(u, err)
		}
	}
	if line == nil {
		return nil, ErrUnknown
	}
	return line, nil
}

// Problems returns what is wrong with the file, as far as it has been read: each
// problem once, and not more than a few.
func (t *Table) Problems() []error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.problems)
}

// problem remembers what is wrong with a unit; u may be nil.
func (t *Table) problem(u *unit, err error) {
	if u != nil && !errors.Is(err, errNoAltFile) { // which is no unit's fault
		err = &UnitError{u.start, err}
	}
	text := err.Error()
	if t.named[text] || len(t.problems) == maxProblems {
		return
	}
	t.named[text] = true
	t.problems = append(t.problems, err)
}

// section returns a section, which is opened once; nil if there is none.
func (t *Table) section(name string) *section {
	s, ok := t.opened[name]
	if !ok {
		s = t.src.open(name, t.budget)
		t.opened[name] = s
	}
	return s
}

// abbrevsAt returns the abbreviations at an offset, which units share.
func (t *Table) abbrevsAt(s *section, off uint64, z sizes) (*abbrevs, error) {
	key := abbrevKey{s, off, z}
	if a, ok := t.abbrevs[key]; ok {
		return a, nil
	}
	a, err := readAbbrevs(cursorAt(s, t.order, off, s.size()), z, 0)
	if err != nil {
		return nil, err
	}
	t.abbrevs[key] = a
	return a, nil
}
