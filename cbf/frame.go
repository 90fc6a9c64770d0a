package cbf

import (
	"fmt"
	"math/bits"
)

// WordSize is the size of the machine words of a backtrace, in bits: 16, 32 or
// 64. The zero value is not valid.
type WordSize uint8

// The word sizes that version 0 can express.
const (
	Word16 WordSize = 16
	Word32 WordSize = 32
	Word64 WordSize = 64
)

// Valid reports whether the word size is one that CBF can express.
func (w WordSize) Valid() bool { return w == Word16 || w == Word32 || w == Word64 }

// Max is the largest address of this word size, 2^w-1.
func (w WordSize) Max() uint64 { return ^uint64(0) >> (64 - uint(w)) }

// code is the size field of the information byte.
func (w WordSize) code() byte { return byte(bits.TrailingZeros8(uint8(w)) - 4) }

// signedLen is the number of bytes that hold v, 1 to w/8, when the reader
// sign-extends them to the word. v must not exceed w.Max().
func (w WordSize) signedLen(v uint64) int {
	shift := 64 - uint(w)
	x := int64(v<<shift) >> shift
	return bits.Len64(uint64(x^(x>>63)))/8 + 1
}

// Kind is the kind of a [Frame]. The zero value is not valid.
type Kind uint8

// The kinds of frame.
const (
	// PC is a program counter: the instruction at Address is the one to run
	// next. The innermost frame of a captured context, or one that a signal
	// interrupted.
	PC Kind = iota + 1
	// RA is a return address: the call is the instruction before Address.
	RA
	// Async is the entry of an async resume function.
	Async
	// Omitted stands for Count frames that were left out of the backtrace.
	Omitted
	// Truncated says that the backtrace was cut short here. Always the last.
	Truncated
)

var kindNames = [...]string{PC: "pc", RA: "ra", Async: "async", Omitted: "omit", Truncated: "truncated"}

// String is the kind's name in clew's JSON: pc, ra, async, omit, truncated.
func (k Kind) String() string {
	if k >= PC && k <= Truncated {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// HasAddress reports whether frames of this kind carry an address.
func (k Kind) HasAddress() bool { return k == PC || k == RA || k == Async }

// Frame is one entry of a backtrace.
type Frame struct {
	// Kind says which of the other fields count.
	Kind Kind
	// Address is the frame's address for PC, RA and Async, at most the largest
	// of the word size; otherwise 0.
	Address uint64
	// Count is the number of frames left out for Omitted; otherwise 0.
	Count uint64
}

// String is the frame as one line: "ra 0x1234", "omit 13", "truncated".
func (f Frame) String() string {
	switch {
	case f.Kind.HasAddress():
		return fmt.Sprintf("%s %#x", f.Kind, f.Address)
	case f.Kind == Omitted:
		return fmt.Sprintf("omit %d", f.Count)
	}
	return f.Kind.String()
}

// Limits of the package.
const (
	// MaxRepeat is the most repeats that one rep instruction may ask for: the
	// limit of Swift's reader.
	MaxRepeat = 1 << 20
	// MaxFrames is how many frames Decode collects unless told otherwise. A
	// handful of bytes can stand for millions of frames.
	MaxFrames = 1 << 22
)

// Instructions of version 0; see the package comment.
const (
	opEnd   = 0x00
	opTrunc = 0x01
	opPC    = 0x10
	opRA    = 0x20
	opAsync = 0x30
	opOmit  = 0x40 // to 0x7f
	opRep   = 0x80 // to 0x8f

	flagAbsolute = 0x08 // in pc, ra, async
	flagOmitLong = 0x20 // in omit: the count follows in bytes of its own
	flagRepLong  = 0x08 // in rep: likewise
)
