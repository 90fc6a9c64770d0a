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

// Piece is a function, or a part of one that the compiler has moved away: no call leads
// there.
type Piece struct {
	Start, End uint64
	Part       bool
}

// Image is the model of an image's code. It is safe for concurrent use.
type Image struct {
	arch     unwind.Arch
	contents Contents

	mu        sync.Mutex
	functions map[uint64]*Function // by their start
	size      int                  // of them, in bytes
	backs     map[uint64]prologue.Back
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
	table      *prologue.Table // nil if the code cannot be followed
}

// At returns the function around an address; nil if none is known.
func (m *Image) At(pc uint64) *Function {
	p, ok := m.contents.Bounds(pc)
	if !ok || p.Part || p.End <= p.Start {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.functions[p.Start]
	if f != nil && f.End == p.End {
		return f
	}
	f = &Function{Start: p.Start, End: p.End, arch: m.arch}
	f.table = prologue.Survey(m.arch, m.contents.Code(f.Start, int(min(f.End-f.Start, maxFunction))), f.Start, (*surroundings)(m), nil)
	if m.size += f.size(); m.size > maxSize {
		clear(m.functions)
		m.size = f.size()
	}
	m.functions[f.Start] = f
	return f
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
		p.Rule, p.Proof = f.table.Rules[row.Rule].Rule(f.arch), row.Proof
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
	return Place{Rule: kept.Rule(f.arch), Proof: row.Proof, Height: int64(row.Height)}
}
