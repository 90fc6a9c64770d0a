package location

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/clewdbg/clew/server/symbols/dwarfline"
	"github.com/clewdbg/clew/server/values/types"
)

// Context is what an expression may rest on: a frame, its stack and its program.
type Context interface {
	// Register returns the bytes of a register by DWARF's number, at least 8 of them unless it has fewer.
	Register(n uint64) ([]byte, error)
	CFA() (uint64, error)
	// OnStack says that a register points to the stack.
	OnStack(reg uint64) bool
	FrameBase() (uint64, error)
	// Entry returns what an expression had been when the frame's function was entered.
	Entry(expression []byte) ([]byte, error)
	// Parameter returns what the caller passed for a parameter.
	Parameter(e *dwarfline.Entry) ([]byte, error)
	// TLS returns the address of a thread's variable by its offset in the module's block.
	TLS(offset uint64) (uint64, error)
	ReadMemory(addr uint64, p []byte) error
	// Object is the address of the object that a member's place counts from; ok is false where there is none.
	Object() (addr uint64, ok bool)
	// Bias is what addresses in the file are lower.
	Bias() uint64
	Order() binary.ByteOrder
	// ByLLVM says that LLVM has made the description: some of its faults are known.
	ByLLVM() bool
	// Types are those of the file.
	Types() *types.Set
}

// Unit is the unit that an expression stands in, with its types, addresses and other entries: any entry of it.
type Unit interface {
	Sizes() (version, address, offset int)
	AddressAt(i uint64) (uint64, error)
	InUnit(off uint64) (*dwarfline.Entry, error)
	InSection(off uint64) (*dwarfline.Entry, error)
}

// Kind is where a piece of a value is.
type Kind uint8

// The kinds of places.
const (
	Optimized Kind = iota // nowhere: the compiler has left it out
	Memory
	Register
	Bytes   // the value itself
	Implied // a pointer to what lies nowhere
)

// Piece is a part of a value.
type Piece struct {
	Kind Kind
	Addr uint64 // in memory
	Reg  uint64 // DWARF's number
	Data []byte
	// Bits is the size of the piece in bits; 0: all of the value. Shift is where it begins, in bits, in its place.
	Bits, Shift uint64
	// Entry is what a pointer points to that is implied, Offset bytes behind its start.
	Entry  *dwarfline.Entry
	Offset int64
	// Stack says that the value itself is a place on the stack.
	Stack bool
}

// Location is where a value lies: one piece or several.
type Location struct{ Pieces []Piece }

// In is a place in memory.
func In(addr uint64) Location { return Location{[]Piece{{Kind: Memory, Addr: addr}}} }

// Of is a value.
func Of(data []byte) Location { return Location{[]Piece{{Kind: Bytes, Data: data}}} }

// Nowhere is the place of what the compiler has left out.
var Nowhere = Location{[]Piece{{}}}

// Error says what is wrong with an expression, or not supported, and where.
type Error struct {
	At   int // the operation's offset in the expression
	What string
}

// Error names the operation.
func (e *Error) Error() string { return fmt.Sprintf("its DWARF expression, at %#x: %s", e.At, e.What) }

// ErrOptimized says that there is no value: the compiler has left it out.
var ErrOptimized = errors.New("optimized out")

// Evaluate returns where an expression leads.
func Evaluate(c Context, entry Unit, expression []byte) (Location, error) {
	if len(expression) == 0 {
		return Nowhere, nil
	}
	x := machine{context: c, entry: entry}
	return x.run(expression)
}

// Value evaluates an expression that is a value, as those of frame bases, sizes and members' places are. The initial
// values are on the stack before, the last on top.
func Value(c Context, entry Unit, expression []byte, initial ...uint64) (uint64, error) {
	x := machine{context: c, entry: entry}
	for _, v := range initial {
		x.push(word(v))
	}
	if err := x.execute(expression, 0); err != nil {
		return 0, err
	}
	if len(x.done) > 0 || x.now.Kind == Bytes && !x.implicit {
		return 0, &Error{0, "a place where a value is wanted"}
	}
	if x.now.Kind == Register { // a frame base may be a register's name (DWARF 3)
		data, err := c.Register(x.now.Reg)
		if err != nil {
			return 0, err
		}
		return number(c.Order(), data[:min(8, len(data))]), nil
	}
	v, err := x.top()
	if err != nil {
		return 0, err
	}
	return v.bits, nil
}

func number(order binary.ByteOrder, b []byte) (v uint64) {
	for i := range b {
		at := len(b) - 1 - i
		if order == binary.BigEndian {
			at = i
		}
		v = v<<8 | uint64(b[at])
	}
	return v
}
