package imagemap

import (
	"errors"
	"fmt"
	"strings"
)

// Faults of CIF data or of an image.
var (
	// ErrUnexpectedEnd: the data ends before it is complete.
	ErrUnexpectedEnd = errors.New("data ends too early")
	// ErrTrailing: bytes follow the last image. The usual cause is the
	// NoPlatform option not agreeing with the data.
	ErrTrailing = errors.New("data goes on after the last image")
	// ErrVersion: the information byte names a version other than 0.
	ErrVersion = errors.New("unsupported version")
	// ErrWordSize: a word size that version 0 does not have.
	ErrWordSize = errors.New("unsupported word size")
	// ErrPlatform: the platform is not UTF-8, or longer than 255 bytes.
	ErrPlatform = errors.New("invalid platform")
	// ErrImageCount: more than MaxImages images.
	ErrImageCount = errors.New("too many images")
	// ErrHeader: a reserved bit is set in an image's header byte.
	ErrHeader = errors.New("invalid image header")
	// ErrAddressRange: an address larger than the machine word.
	ErrAddressRange = errors.New("address exceeds the machine word")
	// ErrEndOfText: the end of text is not above the base.
	ErrEndOfText = errors.New("end of text is not above the base")
	// ErrBuildID: a build ID of more than MaxBuildID bytes.
	ErrBuildID = errors.New("build ID too long")
	// ErrPrefix: a path refers to a prefix that is reserved or not defined.
	ErrPrefix = errors.New("undefined path prefix")
	// ErrPathLength: a path of more than MaxPath bytes, or all paths together
	// of more than DecodeOptions.MaxPathBytes.
	ErrPathLength = errors.New("path too long")
)

// Error says where in CIF data reading stopped, and why.
type Error struct {
	// Offset is the byte offset of the field that cannot be read.
	Offset int
	// Image is the number of the image it belongs to, from 0 in the order of
	// the data, or -1 for data before the images or behind them.
	Image int
	// Err is the reason.
	Err error
}

func (e *Error) Error() string {
	if e.Image < 0 {
		return fmt.Sprintf("imagemap: offset %d: %v", e.Offset, e.Err)
	}
	return fmt.Sprintf("imagemap: offset %d, image %d: %v", e.Offset, e.Image, e.Err)
}

// Unwrap is the reason.
func (e *Error) Unwrap() error { return e.Err }

// PathError is a path that cannot be decoded, of an image that otherwise can.
type PathError struct {
	// Base is the base address of the image: its path in the map is empty.
	Base uint64
	// Image is the number of the image in the order of the data, from 0.
	Image int
	// Offset is the byte offset of the opcode that makes no sense.
	Offset int
	// Err is the reason.
	Err error
}

func (e *PathError) Error() string {
	return fmt.Sprintf("imagemap: offset %d: path of image %d at %#x: %v", e.Offset, e.Image, e.Base, e.Err)
}

// Unwrap is the reason.
func (e *PathError) Unwrap() error { return e.Err }

// PathErrors are the paths of a map that cannot be decoded, at least one.
type PathErrors []*PathError

func (e PathErrors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the single errors.
func (e PathErrors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, err := range e {
		errs[i] = err
	}
	return errs
}

// ImageError says which image given to New cannot be in a map, and why.
type ImageError struct {
	// Index is its place in the slice given.
	Index int
	Base  uint64
	Path  string
	Err   error
}

func (e *ImageError) Error() string {
	return fmt.Sprintf("imagemap: image %d (%q at %#x): %v", e.Index, e.Path, e.Base, e.Err)
}

// Unwrap is the reason.
func (e *ImageError) Unwrap() error { return e.Err }
