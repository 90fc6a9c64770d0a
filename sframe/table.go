package sframe

import "github.com/clewdbg/clew/unwind"

// Section is a section with SFrame tables.
type Section struct {
	Name string // for messages
	Addr uint64 // of Data[0]; functions' starts are relative to it
	Data []byte // must not change
}

// Options say how a section is to be read.
type Options struct {
	// Arch is the tables' required architecture; unknown accepts any.
	Arch unwind.Arch
	// Code is the code that functions may claim, empty if not known.
	Code unwind.RangeSet
	// PLTGot is the section .plt.got with its contents, empty if not known.
	PLTGot Section
	// PLT are the sections .plt and .plt.sec, those that are known.
	PLT []Section
	// Verbatim takes rules as the tables have them, without checking them against
	// the code.
	Verbatim bool
	// OpenEnded: the section's data reaches beyond its end, so that bytes behind
	// the table are no problem.
	OpenEnded bool
}

// Table is the index of one section: the usable functions, and the places of
// their rows. Its methods may be called at the same time.
type Table struct {
	section  Section
	headers  []Header
	index    []function // sorted by address
	search   search
	marks    []mark
	problems problems
}

// Section returns the section that the table was made of.
func (t *Table) Section() Section { return t.section }

// Headers are those of the tables that can be read.
func (t *Table) Headers() []Header { return t.headers }

// Problems returns the first problems of the section and how many it has in all.
func (t *Table) Problems() (first []*Error, count int) { return t.problems.first, t.problems.count }
