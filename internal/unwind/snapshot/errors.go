package snapshot

import (
	"errors"
	"fmt"

	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// FieldError is a problem with one value of a snapshot, whose path it says:
// "threads[0].registers.rip".
type FieldError = stackjson.FieldError

// SyntaxError says that a line is not JSON, and from which byte on.
type SyntaxError = stackjson.SyntaxError

// Errors that others wrap.
var (
	// ErrNotInSnapshot is the cause of a memory error: the snapshot does not hold
	// that memory.
	ErrNotInSnapshot = errors.New("it is not in the snapshot")
	// ErrLineTooLong: a line has more bytes than the reader may take.
	ErrLineTooLong = errors.New("the line is too long")
)

// VersionError says that a snapshot has another version.
type VersionError struct{ Version uint64 }

// Error says which version is known.
func (e *VersionError) Error() string {
	return fmt.Sprintf("version %d of the snapshot format is not known here, only version %d is", e.Version, Version)
}

// ArchError says that there are no snapshots of an architecture.
type ArchError struct{ Name string }

// Error says which architectures there are.
func (e *ArchError) Error() string {
	return fmt.Sprintf("unknown architecture %.80q (known: amd64, arm64, 386, s390x)", e.Name)
}

// LineError is a problem with one line of a stream.
type LineError struct {
	Line int // from 1
	Err  error
}

// Error says which line and what.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the problem.
func (e *LineError) Unwrap() error { return e.Err }
