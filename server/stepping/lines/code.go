package lines

import (
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
)

// Code is a process's native code, as its files describe it.
type Code interface {
	// Bytes returns up to n original bytes from an address on.
	Bytes(addr uint64, n int) []byte
	// Place returns the line of an instruction.
	Place(addr uint64) Place
	// Function returns the function around an address. ok is false where none is known, and for Go's.
	Function(addr uint64) (fn Function, ok bool)
	// Imported returns the function with lines that an entry of a linkage table is for, as its symbol says.
	Imported(entry uint64) (fn Function, ok bool)
	// Height is how far the stack pointer is below the CFA before an instruction. ok is false where that is not proven.
	Height(addr uint64) (height uint64, ok bool)
}

// Place is an instruction's row of the line table.
type Place struct {
	Start     uint64 // of the row
	Statement bool   // the row's mark
	// Chain has the functions that the instruction belongs to, the innermost inlined one first, each with the line there. Without
	// any, or with the line 0, the instruction has no line.
	Chain []Frame
}

// Frame is one of a chain.
type Frame struct {
	Function, File string
	Line           int
}

// Lined says whether there is a line.
func (p *Place) Lined() bool { return len(p.Chain) > 0 && p.Chain[0].Line > 0 }

// Function is a native function.
type Function struct {
	Name   string
	Entry  uint64
	Ranges []unwind.Range // parts that were moved away too
	// Body is the first address behind the prologue, 0 for a function without lines: no step ends in it.
	Body uint64
	// Glue says that the function is part of what lies between C and Go: it leads to code of the other language.
	Glue bool
}

func (f *Function) contains(addr uint64) bool {
	for _, r := range f.Ranges {
		if r.Contains(addr) {
			return true
		}
	}
	return false
}

// Thread is a thread that stands.
type Thread interface {
	Register(r unwind.Register) (v uint64, ok bool)
	Word(addr uint64) (v uint64, ok bool)
}

// longest is an upper bound for the size of an instruction.
const longest = 16

// walker decodes.
type walker struct {
	arch    unwind.Arch
	code    Code
	decoder prologue.Decoder
}

func (w *walker) decode(addr uint64) (in prologue.Insn, bytes []byte) {
	bytes = w.code.Bytes(addr, longest)
	if len(bytes) == 0 {
		return prologue.Insn{Flow: prologue.FlowUnknown}, nil
	}
	in = w.decoder.For(w.arch, bytes, addr)
	return in, bytes
}
