package cfi

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"github.com/clewdbg/clew/unwind"
)

// Kind is one of the two forms of call-frame information.
type Kind uint8

// The forms of call-frame information.
const (
	// EHFrame is .eh_frame (LSB 5, 10.6.1): loaded with the program.
	EHFrame Kind = iota
	// DebugFrame is .debug_frame (DWARF 5, 6.4.1): not loaded, its addresses are
	// those that the linker assigned.
	DebugFrame
)

// Section is a section with call-frame information.
type Section struct {
	Name string // for messages
	Kind Kind
	Addr uint64 // of Data[0] in the target; 0 if not loaded
	Data []byte // must not change
}

// Options are the parameters for reading a section.
type Options struct {
	Arch unwind.Arch
	// Order is nil for the architecture's default.
	Order binary.ByteOrder
	// Bias is added to the linker's addresses to get those in the target.
	Bias uint64
	// DataBase is the base of data-relative pointers to code, 0 if unknown: then
	// they are refused.
	DataBase uint64
	// Header is .eh_frame_hdr, without data if the program has none.
	Header Section
	// Code is the code that FDEs may claim, empty if not known.
	Code unwind.RangeSet
	// Synchronous: the tables are right at calls only: Apple's compilers describe
	// a whole prologue at its end, and no epilogue.
	Synchronous bool
	// OpenEnded: the section's data reaches beyond its end, so that undecodable
	// bytes after it are no problem.
	OpenEnded bool
}

// Table is one section with its index. Its methods may be called at the same
// time.
type Table struct {
	section  Section
	opts     Options
	big      bool
	addrSize int
	header   header

	once     sync.Once
	index    index
	problems problems
	built    builtFlag
}

// New makes a table. It reads no more than the header, if there is one: the
// index is built when first needed.
func New(s Section, opts Options) *Table {
	opts.Order = cmp.Or(opts.Order, opts.Arch.ByteOrder())
	t := &Table{section: s, opts: opts, addrSize: opts.Arch.PointerSize()}
	t.big = opts.Order.Uint16([]byte{0, 1}) == 1
	if s.Kind == EHFrame && len(opts.Header.Data) > 0 {
		t.header = parseHeader(opts.Header, t.big, t.addrSize, opts.Bias)
	}
	if uint64(len(s.Data)) > math.MaxUint32 {
		t.section.Data = nil
		t.problems.add(t.errorf(0, "the section has 4 GiB or more"))
	}
	return t
}

// Arch is the architecture of the code.
func (t *Table) Arch() unwind.Arch { return t.opts.Arch }

// Section returns the section that the table was made of.
func (t *Table) Section() Section { return t.section }

func (t *Table) errorf(offset uint64, format string, args ...any) *Error {
	return &Error{Section: t.section.Name, Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

// maxProblems is the number of problems of which the text is kept.
const maxProblems = 4

// problems are the first faults of a section, and their total number.
type problems struct {
	first []*Error
	count int
}

func (p *problems) add(err *Error) {
	p.count++
	if len(p.first) < maxProblems {
		p.first = append(p.first, err)
	}
}

// Problems returns the first problems of the section and their total number. It
// builds the index.
func (t *Table) Problems() (first []*Error, count int) {
	t.build()
	return t.problems.first, t.problems.count
}
