package table

import "fmt"

// Error is a fault of a section. Page and Entry count from 0; -1 where the
// error is not within one.
type Error struct {
	Page, Entry int
	Offset      uint64 // in the section, in bytes
	Reason      string
	// Err is the reason for which an entry's encoding is refused, nil for all
	// other errors.
	Err error
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Error names the place and the reason.
func (e *Error) Error() string {
	switch {
	case e.Page < 0:
		return fmt.Sprintf("unwind_info: offset %#x: %s", e.Offset, e.Reason)
	case e.Entry < 0:
		return fmt.Sprintf("unwind_info: page %d at offset %#x: %s", e.Page, e.Offset, e.Reason)
	}
	return fmt.Sprintf("unwind_info: page %d, entry %d at offset %#x: %s", e.Page, e.Entry, e.Offset, e.Reason)
}

func headerError(offset uint64, format string, args ...any) error {
	return &Error{Page: -1, Entry: -1, Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

// EncodingError is an encoding that has no valid rule.
type EncodingError struct {
	Encoding Encoding
	Reason   string
}

// Error names the encoding and the reason.
func (e *EncodingError) Error() string {
	return fmt.Sprintf("compact unwind encoding %#08x: %s", uint32(e.Encoding), e.Reason)
}

func encodingError(e Encoding, format string, args ...any) error {
	return &EncodingError{Encoding: e, Reason: fmt.Sprintf(format, args...)}
}
