package cbf

import (
	"errors"
	"fmt"
)

// Faults of CBF data. Every error of a [Decoder] is an [*Error] that wraps one
// of these.
var (
	// ErrUnexpectedEnd: the data ends before the information byte or inside
	// an operand.
	ErrUnexpectedEnd = errors.New("data ends too early")
	// ErrVersion: the information byte names a version other than 0.
	ErrVersion = errors.New("unsupported version")
	// ErrWordSize: the information byte, or a caller, names a word size that
	// version 0 does not have.
	ErrWordSize = errors.New("unsupported word size")
	// ErrOpcode: an instruction that is not defined, or not in the strict
	// dialect.
	ErrOpcode = errors.New("unknown instruction")
	// ErrRelativeFirst: the first address is relative (strict reading only).
	ErrRelativeFirst = errors.New("first address is not absolute")
	// ErrOperand: an operand that the machine word cannot hold, or (strict
	// reading) longer than the machine word.
	ErrOperand = errors.New("operand exceeds the machine word")
	// ErrNothingToRepeat: a rep instruction with no frame before it.
	ErrNothingToRepeat = errors.New("nothing to repeat")
	// ErrRepeatLimit: a rep instruction above the limit.
	ErrRepeatLimit = errors.New("too many repeats")
	// ErrFrameLimit: Decode collected as many frames as it may.
	ErrFrameLimit = errors.New("too many frames")
)

// Faults of a frame passed to an [Encoder]. The errors are [*FrameError] values
// that wrap one of these, except ErrFinished, which is not wrapped.
var (
	// ErrKind: the frame's kind is not one of the five.
	ErrKind = errors.New("invalid frame kind")
	// ErrAddressRange: the address is larger than the machine word.
	ErrAddressRange = errors.New("address exceeds the machine word")
	// ErrCountRange: the count of omitted frames is larger than the machine
	// word.
	ErrCountRange = errors.New("count exceeds the machine word")
	// ErrFinished: the backtrace was ended before.
	ErrFinished = errors.New("cbf: backtrace already ended")
)

// Error says where in the data reading stopped, and why.
type Error struct {
	// Offset is the byte offset of the instruction (or information byte) that
	// cannot be read, from the start of the data.
	Offset int
	// Err is the reason.
	Err error
}

func (e *Error) Error() string { return fmt.Sprintf("cbf: offset %d: %v", e.Offset, e.Err) }

// Unwrap is the reason.
func (e *Error) Unwrap() error { return e.Err }

// FrameError says which frame an encoder refused, and why.
type FrameError struct {
	Frame Frame
	Err   error
}

func (e *FrameError) Error() string { return fmt.Sprintf("cbf: frame %q: %v", e.Frame, e.Err) }

// Unwrap is the reason.
func (e *FrameError) Unwrap() error { return e.Err }
