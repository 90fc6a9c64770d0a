package codemodel

import (
	"sync"

	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// Contents are an image's bytes, pointers and functions.
type Contents interface {
	// Code returns up to n original bytes of code from addr on.
	Code(addr uint64, n int) []byte
	// Data returns n bytes that never change, nil if they are not known. Pointers in
	// them are as the loaded image has them.
	Data(addr uint64, n int) []byte
	// Slot tells what a pointer for the dynamic linker leads to: an address in this
	// image, or the name of what another one has. Neither: not known.
	Slot(addr uint64) (target uint64, name string)
	// Bounds returns the piece of code that an address lies in, by symbols or
	// call-frame information; ok is false where none is known for certain.
	Bounds(addr uint64) (p Piece, ok bool)
}

// WholeImage are contents that can tell of an image as a whole: functions without symbols and
// call-frame information are found in such ones only.
type WholeImage interface {
	// Layout is asked once; nil if nothing is known.
	Layout() *Layout
}

// Piece is a function, or a part of one that the compiler has moved away: no call leads
// there. Tabled parts, which call-frame information describes, are left to that.
type Piece struct {
	Start, End   uint64
	Part, Tabled bool
}

// Image is the model of an image's code. It is safe for concurrent use.
type Image struct {
	arch     unwind.Arch
	contents Contents

	mu        sync.Mutex
	functions map[uint64]*Function // by their start
	size      int                  // of them, in bytes
	backs     map[uint64]prologue.Back
	found     *found                    // nil until it is needed
	pieces    pieces                    // known so far, or in the end; nil before
	pointers  []Reference               // of data, by target; nil before starts are looked for
	text      []byte                    // all code while starts are looked for, else nil
	base      uint64                    // its address
	plain     []uint8                   // lengths of instructions in text that only go on with the next one; 0: not known
	search    *search                   // nil before the first
	pads      map[uint64][]prologue.Pad // landing pads, by function; nil before they are looked for
}

// Bounds of what an image keeps: the functions' tables, in bytes, and answers about
// calls.
const (
	maxSize  = 16 << 20
	maxBacks = 1 << 18
)

// New makes the model of an image.
func New(arch unwind.Arch, contents Contents) *Image {
	return &Image{arch: arch, contents: contents, functions: make(map[uint64]*Function), backs: make(map[uint64]prologue.Back)}
}

// Function is a function's rules.
type Function struct {
	Start, End uint64
	arch       unwind.Arch
	grade      prologue.Proof  // of its start
	table      *prologue.Table // nil if the code cannot be followed
}

// At returns the function around an address; nil if none is known. Where neither symbols nor
// call-frame information know one, all of the image's code is read for it, once.
func (m *Image) At(pc uint64) *Function {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.contents.Bounds(pc)
	grade := prologue.Proven
	if !ok {
		p, grade, ok = m.all().piece(pc)
	}
	if !ok || p.End <= p.Start || p.Part && p.Tabled {
		return nil
	}
	if p.Part {
		m.all()
	}
	return m.function(p, grade, 0)
}

// code returns up to n bytes of code.
func (m *Image) code(addr uint64, n int) []byte {
	if at := addr - m.base; at < uint64(len(m.text)) {
		return m.text[at:min(at+uint64(n), uint64(len(m.text)))]
	}
	return m.contents.Code(addr, n)
}

// function is the function of a piece of code, nil if it is entered in ways that are not known.
func (m *Image) function(p Piece, grade prologue.Proof, depth int) *Function {
	f := m.functions[p.Start]
	if f != nil && f.End == p.End {
		return f
	}
	from, ok := m.enters(p, depth)
	if !ok {
		return nil
	}
	f = &Function{Start: p.Start, End: p.End, arch: m.arch, grade: grade}
	f.table = prologue.Survey(m.arch, m.code(f.Start, int(min(f.End-f.Start, maxFunction))), f.Start, (*surroundings)(m), from)
	if m.size += f.size(); m.size > maxSize {
		clear(m.functions)
		m.size = f.size()
	}
	m.functions[f.Start] = f
	return f
}

// maxMoved bounds parts that are entered from parts.
const maxMoved = 4

// enters returns the state with which a part of a function is entered, nil for a function;
// ok is false where that is not known.
func (m *Image) enters(part Piece, depth int) (from *prologue.State, ok bool) {
	if !part.Part {
		return nil, true
	}
	if depth > maxMoved || m.pieces == nil {
		return nil, false
	}
	for _, owner := range m.pieces.owners(part.Start) {
		p, grade, known := m.pieces.piece(owner)
		if !known || p.Start != owner {
			continue
		}
		f := m.function(p, grade, depth+1)
		if f == nil || f.table == nil || f.table.Leaving[part.Start] == nil {
			continue
		}
		if from == nil {
			from = f.table.Leaving[part.Start]
		} else if from, ok = from.Join(m.arch, f.table.Leaving[part.Start]); !ok {
			return nil, false
		}
	}
	return from, from != nil
}

// size is how many bytes a function's table takes.
func (f *Function) size() int {
	const own = 64
	if f.table == nil {
		return own
	}
	return own + f.table.Size()
}

// maxFunction bounds a function, in bytes.
const maxFunction = 1 << 20

// pieces are where functions begin, and who jumps to parts of them.
type pieces interface {
	piece(addr uint64) (p Piece, grade prologue.Proof, ok bool)
	owners(part uint64) []uint64
}

// Place is what is known of an instruction.
type Place struct {
	Rule  rule.Rule // if Proof says so
	Proof prologue.Proof
	// Height is how far the stack pointer is below the CFA, in bytes; -1 if that is
	// known at run time only.
	Height int64
}

// At returns what is known of an instruction; ok is false where no instruction begins
// that is known to be reached.
func (f *Function) At(pc uint64) (p Place, ok bool) {
	if f.table == nil || pc < f.Start {
		return Place{}, false
	}
	row := f.table.At(pc - f.Start)
	if row == nil {
		return Place{}, false
	}
	if row.Rule >= 0 {
		p.Rule, p.Proof = f.table.Rules[row.Rule].Rule(f.arch), min(row.Proof, f.grade)
	}
	p.Height = int64(row.Height)
	return p, true
}

// Waiting returns what is known of a frame that waits in a call, which returns to ra: the
// place of the call, without what the call may have changed. The code behind a call
// that does not come back is another path's.
func (f *Function) Waiting(ra uint64) (p Place) {
	if f.table == nil || ra <= f.Start {
		return Place{}
	}
	off, ok := f.table.Call(ra - f.Start)
	if !ok {
		return Place{}
	}
	row := f.table.At(off)
	if row.Rule < 0 {
		return Place{}
	}
	kept, ok := f.table.Rules[row.Rule].AtCall(f.arch)
	if !ok {
		return Place{}
	}
	return Place{Rule: kept.Rule(f.arch), Proof: min(row.Proof, f.grade), Height: int64(row.Height)}
}
