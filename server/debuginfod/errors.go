package debuginfod

import (
	"errors"
	"fmt"
	"time"
)

// ErrNotFound says that every server was asked and none has the file.
var ErrNotFound = errors.New("no server has it")

// ServerError says what is wrong with one server.
type ServerError struct {
	URL string
	Err error
}

// Error names the server's address and the reason.
func (e *ServerError) Error() string { return fmt.Sprintf("%s: %v", e.URL, e.Err) }

// Unwrap returns the reason.
func (e *ServerError) Unwrap() error { return e.Err }

// OtherBuildError says that a file is not of the build that was asked for.
type OtherBuildError struct {
	Want, Found []byte // build IDs; Found is nil where the file has none
	Err         error  // why it has none
}

// Error gives both.
func (e *OtherBuildError) Error() string {
	switch {
	case e.Err != nil:
		return fmt.Sprintf("not a file of build %x: %v", e.Want, e.Err)
	case e.Found == nil:
		return fmt.Sprintf("not a file of build %x: it has no build ID", e.Want)
	}
	return fmt.Sprintf("a file of another build (%x), wanted %x", e.Found, e.Want)
}

// Unwrap returns why the build ID could not be read.
func (e *OtherBuildError) Unwrap() error { return e.Err }

// SizeError says that a file is larger than allowed.
type SizeError struct{ Max int64 }

// Error says what to do.
func (e *SizeError) Error() string {
	return fmt.Sprintf("more than %d bytes; DEBUGINFOD_MAXSIZE sets another limit", e.Max)
}

// SlowError says that a server sent too little in the time it has.
type SlowError struct{ Timeout time.Duration }

// Error says what to do.
func (e *SlowError) Error() string {
	return fmt.Sprintf("less than %d KiB in %v; DEBUGINFOD_TIMEOUT sets another limit", slowBytes>>10, e.Timeout)
}
