package dwarfline

import (
	"errors"
	"fmt"
)

// ErrUnknown says that no unit describes the address.
var ErrUnknown = errors.New("no DWARF unit describes the address")

// FormatError says what is invalid, and where.
type FormatError struct {
	Section string
	Offset  uint64 // in the section, decompressed
	What    string
}

// Error names section and offset.
func (e *FormatError) Error() string {
	return fmt.Sprintf("%s+%#x: %s", e.Section, e.Offset, e.What)
}

// UnitError says which unit is not used, or not in full, and why.
type UnitError struct {
	Offset uint64 // of the unit in .debug_info
	Err    error
}

// Error names the unit.
func (e *UnitError) Error() string { return fmt.Sprintf("DWARF unit %#x: %v", e.Offset, e.Err) }

// Unwrap returns the cause.
func (e *UnitError) Unwrap() error { return e.Err }

// SectionError says that a section cannot be read.
type SectionError struct {
	Name string
	Err  error
}

// Error names the section.
func (e *SectionError) Error() string { return fmt.Sprintf("section %s: %v", e.Name, e.Err) }

// Unwrap returns the cause.
func (e *SectionError) Unwrap() error { return e.Err }

var (
	errAbsent       = errors.New("the file does not have it")
	errTooBig       = fmt.Errorf("the sections have more than %d MiB", maxLoaded>>20)
	errTooManyUnits = fmt.Errorf("left out: more than %d units in the file, or %d in all files together", maxUnits, maxSession)

	errPastEnd = errors.New("shorter than it should be")
)
