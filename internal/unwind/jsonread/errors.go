package jsonread

import (
	"fmt"
	"strconv"
	"strings"
)

// FieldError is a problem with one value of a document.
type FieldError struct {
	// Path leads to the value: "threads[0].registers.rip"; empty for the
	// document itself.
	Path string
	Err  error
}

// Error says where and what.
func (e *FieldError) Error() string {
	if e.Path == "" {
		return e.Err.Error()
	}
	return e.Path + ": " + e.Err.Error()
}

// Unwrap returns what is wrong with the value.
func (e *FieldError) Unwrap() error { return e.Err }

// SyntaxError says that a document is not JSON.
type SyntaxError struct {
	// Offset counts the bytes before the place of the error.
	Offset int64
	Err    error
}

// Error says where and what.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("not JSON, at byte %d: %v", e.Offset, e.Err)
}

// Unwrap returns encoding/json's error.
func (e *SyntaxError) Unwrap() error { return e.Err }

// step is one part of a path: a field, or (name empty and isIndex) an element.
type step struct {
	name    string
	index   int
	isIndex bool
}

func (s step) append(b *strings.Builder) {
	switch {
	case s.isIndex:
		fmt.Fprintf(b, "[%d]", s.index)
	case !plainName(s.name):
		fmt.Fprintf(b, "[%s]", strconv.Quote(s.name))
	default:
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(s.name)
	}
}

func plainName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != ""
}
