package gotab

import "fmt"

// A FormatError says where the table breaks the format.
type FormatError struct {
	Offset uint64 // byte offset in the pclntab
	Reason string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("gopclntab: offset %#x: %s", e.Offset, e.Reason)
}

// An InlineError says which inlined call of a function cannot be.
type InlineError struct {
	Function string
	Entry    uint64
	Call     int32 // its index in the function's inline tree
	Reason   string
}

func (e *InlineError) Error() string {
	return fmt.Sprintf("gopclntab: inlined calls in %s at %#x are left out: call %d %s", e.Function, e.Entry, e.Call, e.Reason)
}

// A VersionError means that the bytes start as another version of the table:
// that of Go 1.2 to 1.19, or one of the other byte order.
type VersionError struct {
	Magic uint32 // as read in the byte order that the caller gave
}

func (e *VersionError) Error() string {
	since := "not a Go table, or of the other byte order"
	switch e.Magic {
	case magicGo12:
		since = "Go 1.2 to 1.15"
	case magicGo116:
		since = "Go 1.16 and 1.17"
	case magicGo118:
		since = "Go 1.18 and 1.19"
	}
	return fmt.Sprintf("gopclntab: offset 0x0: magic %#x (%s); only Go 1.20 and later are read", e.Magic, since)
}
