package macho

import (
	"errors"
	"fmt"
)

// Kinds of data that are not one readable image.
var (
	// ErrNotMachO: the data is of another format.
	ErrNotMachO = errors.New("not a Mach-O file")
	// ErrUniversal: a file with images of several architectures, see [Slices].
	ErrUniversal = errors.New("a universal file: one of its slices must be chosen")
)

// Error is a fault of an image, and its place.
type Error struct {
	Offset uint64 // from the image's header, in bytes
	Reason string
	Bound  bool // there is more than is read
}

// Error returns both.
func (e *Error) Error() string { return fmt.Sprintf("Mach-O: offset %#x: %s", e.Offset, e.Reason) }

func errorf(offset uint64, format string, args ...any) error {
	return &Error{Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

func boundf(offset uint64, format string, args ...any) error {
	return &Error{Offset: offset, Reason: fmt.Sprintf(format, args...), Bound: true}
}
