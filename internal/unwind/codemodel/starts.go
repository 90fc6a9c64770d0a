package codemodel

import (
	"cmp"
	"slices"

	"github.com/clewdbg/clew/internal/unwind/lsda"
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
)

// Source says what shows that a function begins at an address.
type Source uint8

// The sources, from the surest on.
const (
	Symbol   Source = iota // of any table of symbols, Go's too
	Frame                  // an FDE
	Entry                  // the entry point, or a function that the loader calls
	Call                   // a direct call in code that is reached
	Swept                  // a direct call in code that nothing is known to lead to
	Pointer                // the address in data or code, and nothing leads there as an inside
	TailCall               // a jump with all as at the entry, beyond the function
	Behind                 // a prologue right behind a call, which has its frame already
	Moved                  // a jump with a frame: a part of a function that was moved away
	Gap                    // code between functions that nothing leads to
)

func (s Source) String() string {
	return [...]string{"symbol", "FDE", "entry", "call", "swept call", "pointer", "tail call", "behind a call", "part", "gap"}[s]
}

// Start is where a function begins, or a part of one that was moved away.
type Start struct {
	Addr   uint64
	Source Source
	Grade  prologue.Proof
	Part   bool
}

// Layout tells of an image as a whole.
type Layout struct {
	Code     []unwind.Range // where instructions are
	Known    []Start        // by symbols, call-frame information, and what the loader calls
	Pointers []Reference    // that data holds
	// Exceptions: there are landing pads, which nothing but tables leads to. Areas are their
	// call sites, if that is all that is known of them.
	Exceptions bool
	Areas      [][]lsda.Site
}

// found are an image's starts, sorted, and which functions jump to parts.
type found struct {
	starts []Start
	jumps  map[uint64][]uint64
	code   unwind.RangeSet
}

// Starts returns where the functions of the image begin. It reads all of the code the first
// time.
func (m *Image) Starts() []Start {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all().starts
}

func (m *Image) all() *found {
	if m.found == nil {
		m.found = find(m)
		m.pieces = m.found
	}
	return m.found
}

// piece is the function around an address by the starts that were found.
func (f *found) piece(addr uint64) (p Piece, grade prologue.Proof, ok bool) {
	i, exact := slices.BinarySearchFunc(f.starts, addr, func(s Start, addr uint64) int { return cmp.Compare(s.Addr, addr) })
	if !exact {
		i--
	}
	r, inCode := f.code.Find(addr)
	if i < 0 || !inCode || f.starts[i].Addr < r.Start {
		return Piece{}, 0, false
	}
	p = Piece{Start: f.starts[i].Addr, End: r.End, Part: f.starts[i].Part}
	if i+1 < len(f.starts) {
		p.End = min(p.End, f.starts[i+1].Addr)
	}
	return p, f.starts[i].Grade, true
}

func (f *found) owners(part uint64) []uint64 { return f.jumps[part] }
