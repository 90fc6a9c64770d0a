package snapshot

import (
	"errors"
	"fmt"

	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// FieldError is a problem with one value of a snapshot, with its path:
// "threads[0].registers.rip".
type FieldError = stackjson.FieldError

// SyntaxError is a line that is not JSON, with the first wrong byte.
type SyntaxError = stackjson.SyntaxError

// Errors that others wrap.
var (
	// ErrNotInSnapshot is the cause of a memory error: the snapshot does not hold
	// that memory.
	ErrNotInSnapshot = errors.New("it is not in the snapshot")
	// ErrLineTooLong: a line has more bytes than the reader may take.
	ErrLineTooLong = errors.New("the line is too long")
)

// VersionError is a snapshot of another version.
type VersionError struct{ Version uint64 }

// Error names the supported version.
func (e *VersionError) Error() string {
	return fmt.Sprintf("version %d of the snapshot format is not known here, only version %d is", e.Version, Version)
}

// ArchError is an architecture without snapshots.
type ArchError struct{ Name string }

// Error lists the supported architectures.
func (e *ArchError) Error() string {
	return fmt.Sprintf("unknown architecture %.80q (known: amd64, arm64, 386, s390x)", e.Name)
}

// LineError is a problem with one line of a stream.
type LineError struct {
	Line int // from 1
	Err  error
}

// Error names the line and the problem.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the problem.
func (e *LineError) Unwrap() error { return e.Err }
