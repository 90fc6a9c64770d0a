package stackasm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"

	"github.com/clewdbg/clew/unwind"
)

// MaxSize bounds a stack in bytes, so that a mistyped padding is an error and
// not all of the machine's memory.
const MaxSize = 1 << 30

// Value is a number, or a label's address plus an offset.
type Value struct {
	label  string
	number uint64 // the value, or the offset in two's complement
}

// Num is the number n.
func Num(n uint64) Value { return Value{number: n} }

// At is the address of a label.
func At(label string) Value { return Value{label: label} }

// Plus is the value plus n, modulo 2^64.
func (v Value) Plus(n int64) Value {
	v.number += uint64(n)
	return v
}

// Values are the values of registers, by their names on the architecture.
type Values map[string]Value

// Stack is a stack that is being described. Its methods return it, so that
// descriptions can be chained; the first mistake is kept for Assemble.
type Stack struct {
	base     uint64
	order    binary.ByteOrder
	wordSize int
	data     []byte
	labels   map[string]uint64
	refs     []reference
	err      error
}

// reference is a word to be filled in when all labels are known.
type reference struct {
	offset int
	value  Value
}

// New starts a stack at address base with the word size and the default byte
// order of the architecture.
func New(arch unwind.Arch, base uint64) *Stack {
	return NewRaw(base, arch.PointerSize(), arch.ByteOrder())
}

// NewRaw starts a stack at address base with words of 4 or 8 bytes.
func NewRaw(base uint64, wordSize int, order binary.ByteOrder) *Stack {
	s := &Stack{base: base, order: order, wordSize: wordSize, labels: map[string]uint64{}}
	if wordSize != 4 && wordSize != 8 {
		s.wordSize = 8
		s.fail("word size %d is neither 4 nor 8", wordSize)
	}
	return s
}

func (s *Stack) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("stackasm: at %#x: "+format, append([]any{s.Here()}, args...)...)
	}
}

// Here is the address of the next byte to be appended.
func (s *Stack) Here() uint64 { return s.base + uint64(len(s.data)) }

// Mark labels the address of the next byte to be appended.
func (s *Stack) Mark(label string) *Stack { return s.Define(label, s.Here()) }

// Define labels any address, for places outside the stack.
func (s *Stack) Define(label string, addr uint64) *Stack {
	switch _, dup := s.labels[label]; {
	case label == "":
		s.fail("a label without a name")
	case dup:
		s.fail("label %q is defined twice", label)
	default:
		s.labels[label] = addr
	}
	return s
}

// grow appends n bytes and returns them, nil if that is refused.
func (s *Stack) grow(n int) []byte {
	if n < 0 || n > MaxSize-len(s.data) {
		s.fail("%d more bytes exceed the limit of %d", n, MaxSize)
		return nil
	}
	if end := s.Here(); n > 0 && end+uint64(n-1) < end || s.err != nil {
		s.fail("%d more bytes exceed the address space", n)
		return nil
	}
	start := len(s.data)
	s.data = append(s.data, make([]byte, n)...)
	return s.data[start:]
}

// Word appends words.
func (s *Stack) Word(values ...uint64) *Stack {
	for _, v := range values {
		s.Value(Num(v))
	}
	return s
}

// Ref appends a word that holds a label's address.
func (s *Stack) Ref(label string) *Stack { return s.Value(At(label)) }

// Value appends words that are numbers or refer to labels.
func (s *Stack) Value(values ...Value) *Stack {
	for _, v := range values {
		offset := len(s.data)
		if p := s.grow(s.wordSize); p != nil {
			s.refs = append(s.refs, reference{offset, v})
		}
	}
	return s
}

// Bytes appends bytes as they are.
func (s *Stack) Bytes(p ...byte) *Stack {
	copy(s.grow(len(p)), p)
	return s
}

// Pad appends n zero bytes.
func (s *Stack) Pad(n int) *Stack {
	s.grow(n)
	return s
}

// Align appends zero bytes up to a multiple of n, a power of two.
func (s *Stack) Align(n int) *Stack {
	if n <= 0 || n&(n-1) != 0 {
		s.fail("alignment %d is not a power of two", n)
		return s
	}
	return s.Pad(int(-s.Here() & uint64(n-1)))
}

// Assemble fills in the labels. The description may be extended and assembled
// again; memory that was assembled before does not change.
func (s *Stack) Assemble() (*Memory, error) {
	if s.err != nil {
		return nil, s.err
	}
	m := &Memory{Base: s.base, Data: append([]byte(nil), s.data...), labels: make(map[string]uint64, len(s.labels))}
	maps.Copy(m.labels, s.labels)
	for _, ref := range s.refs {
		v, err := m.Value(ref.value)
		if err == nil && s.wordSize == 4 && v > math.MaxUint32 {
			err = fmt.Errorf("%#x does not fit a word of 4 bytes", v)
		}
		if err != nil {
			return nil, fmt.Errorf("stackasm: at %#x: %w", s.base+uint64(ref.offset), err)
		}
		if s.wordSize == 4 {
			s.order.PutUint32(m.Data[ref.offset:], uint32(v))
		} else {
			s.order.PutUint64(m.Data[ref.offset:], v)
		}
	}
	return m, nil
}

// ErrLabel is the cause of errors about labels that nothing defines.
var ErrLabel = errors.New("undefined label")
