package codemodel

import (
	"slices"
	"sort"
	"sync"

	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// Contents are an image's bytes and pointers.
type Contents interface {
	// Code returns up to n original bytes of code from addr on.
	Code(addr uint64, n int) []byte
	// Data returns n bytes that never change, nil if they are not known. Pointers in
	// them are as the loaded image has them.
	Data(addr uint64, n int) []byte
	// Slot tells what a pointer for the dynamic linker leads to: an address in this
	// image, or the name of what another one has. Neither: not known.
	Slot(addr uint64) (target uint64, name string)
}

// Start is where a function begins. End is 0 where it is not known. A part is code of a
// function that the compiler has moved away: no call leads there.
type Start struct {
	Addr, End uint64
	Part      bool
}

// Image is the model of an image's code. It is safe for concurrent use.
type Image struct {
	arch     unwind.Arch
	contents Contents
	code     unwind.RangeSet
	starts   []Start // sorted

	mu     sync.Mutex
	tables map[uint64]*Function
	size   int // of the tables, in bytes
	backs  map[uint64]prologue.Back
	names  map[uint64]prologue.Back // of slots
}

// maxSize bounds the tables that an image keeps, in bytes.
const maxSize = 16 << 20

// New makes the model of an image from its executable ranges and the starts that
// are known: of symbols, call-frame information, exports and the entry point.
func New(arch unwind.Arch, code unwind.RangeSet, contents Contents, starts []Start) *Image {
	starts = slices.Clone(starts)
	// Of two that begin together the one with an end counts, and the larger.
	slices.SortFunc(starts, func(a, b Start) int {
		switch {
		case a.Addr != b.Addr && a.Addr < b.Addr, a.Addr == b.Addr && a.End > b.End:
			return -1
		case a == b:
			return 0
		}
		return 1
	})
	starts = slices.CompactFunc(starts, func(a, b Start) bool { return a.Addr == b.Addr })
	return &Image{arch: arch, contents: contents, code: code, starts: starts,
		tables: make(map[uint64]*Function), backs: make(map[uint64]prologue.Back)}
}

// Function is a function's rules.
type Function struct {
	Start, End uint64
	arch       unwind.Arch
	table      *prologue.Table // nil if the code cannot be followed
}

// Function returns the function that begins at an address, with its rules; nil if none is
// known to begin there.
func (m *Image) Function(start uint64) *Function {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.index(start)
	if !ok || m.starts[i].Part {
		return nil
	}
	return m.function(i)
}

// At returns the function around an address; nil if none is known.
func (m *Image) At(pc uint64) *Function {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.index(pc)
	if !ok {
		i--
	}
	if i < 0 || m.starts[i].Part || pc >= m.end(i) {
		return nil
	}
	return m.function(i)
}

// index returns the place of a start in the list.
func (m *Image) index(addr uint64) (int, bool) {
	return slices.BinarySearchFunc(m.starts, addr, func(s Start, addr uint64) int {
		switch {
		case s.Addr < addr:
			return -1
		case s.Addr > addr:
			return 1
		}
		return 0
	})
}

// end returns where a function ends at the latest.
func (m *Image) end(i int) uint64 {
	s := m.starts[i]
	r, ok := m.code.Find(s.Addr)
	if !ok {
		return s.Addr
	}
	if s.End > s.Addr {
		return min(s.End, r.End)
	}
	j := i + 1 + sort.Search(len(m.starts)-i-1, func(k int) bool { return m.starts[i+1+k].Addr > s.Addr })
	if j < len(m.starts) {
		return min(m.starts[j].Addr, r.End)
	}
	return r.End
}

// function makes the rules of a function.
func (m *Image) function(i int) *Function {
	s := m.starts[i]
	if f := m.tables[s.Addr]; f != nil {
		return f
	}
	f := &Function{Start: s.Addr, End: m.end(i), arch: m.arch}
	f.table = prologue.Survey(m.arch, m.contents.Code(f.Start, int(min(f.End-f.Start, maxFunction))), f.Start, (*surroundings)(m))
	if f.table != nil {
		m.size += f.table.Size()
	}
	if m.size > maxSize {
		clear(m.tables)
		m.size = f.size()
	}
	m.tables[s.Addr] = f
	return f
}

func (f *Function) size() int {
	if f.table == nil {
		return 0
	}
	return f.table.Size()
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
