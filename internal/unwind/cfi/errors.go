package cfi

import "fmt"

// Error says what is wrong with call-frame information, and where.
type Error struct {
	Section string // ".eh_frame"
	Offset  uint64 // of the entry or instruction in the section
	Reason  string
}

// Error returns the place and the reason.
func (e *Error) Error() string {
	return fmt.Sprintf("%s+%#x: %s", e.Section, e.Offset, e.Reason)
}
