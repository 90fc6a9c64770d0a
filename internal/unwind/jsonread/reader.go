package jsonread

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrBudget is wrapped by errors about a document whose values would take more
// memory than the reader may use.
var ErrBudget = errors.New("the values would take too much memory")

// ErrNotUTF8 is wrapped by the error about a document that is not UTF-8.
var ErrNotUTF8 = errors.New("the text is not UTF-8")

// Reader walks a document. Its position is always before a value, after one, or
// (inside Struct, Map and Array, which handle that) between two.
type Reader struct {
	data   []byte
	pos    int
	path   []step
	budget int64
}

// New checks that data is one JSON document and positions a reader before it.
// The error is a [*SyntaxError]. Text that is not UTF-8 is not JSON (RFC 8259,
// section 8.1); encoding/json would replace it, so that two names become one.
func New(data []byte) (*Reader, error) {
	if !utf8.Valid(data) {
		valid := 0
		for valid < len(data) {
			c, n := utf8.DecodeRune(data[valid:])
			if c == utf8.RuneError && n == 1 {
				break
			}
			valid += n
		}
		return nil, &SyntaxError{Offset: int64(valid), Err: ErrNotUTF8}
	}
	if !valid(data) {
		var raw json.RawMessage
		err := json.Unmarshal(data, &raw)
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, &SyntaxError{Offset: syntax.Offset, Err: err}
		}
		return nil, &SyntaxError{Err: fmt.Errorf("%w", err)}
	}
	return &Reader{data: data, budget: math.MaxInt64}, nil
}

// valid is json.Valid. The successor of encoding/json takes a third of its time: most of a snapshot is a
// few long strings of memory, which it passes over in a loop. What it refuses encoding/json decides: it refuses
// escapes of half a surrogate pair too.
func valid(data []byte) bool {
	return jsontext.Value(data).IsValid(jsontext.AllowDuplicateNames(true)) || json.Valid(data)
}

// SetBudget sets how many bytes may be charged from now on.
func (r *Reader) SetBudget(n int64) { r.budget = n }

// Charge takes n bytes from the budget, before they are allocated.
func (r *Reader) Charge(n int) error {
	if int64(n) > r.budget {
		return r.Wrap(ErrBudget)
	}
	r.budget -= int64(n)
	return nil
}

// Path is the path of the value at hand.
func (r *Reader) Path() string {
	var b strings.Builder
	for _, s := range r.path {
		s.append(&b)
	}
	return b.String()
}

// Wrap returns an error with the place of the current value. Errors that know
// their place already stay as they are.
func (r *Reader) Wrap(err error) error {
	if err == nil || errors.As(err, new(*FieldError)) {
		return err
	}
	return &FieldError{Path: r.Path(), Err: err}
}

// Errorf is Wrap of fmt.Errorf.
func (r *Reader) Errorf(format string, args ...any) error {
	return &FieldError{Path: r.Path(), Err: fmt.Errorf(format, args...)}
}

// Mark is a place to come back to.
type Mark struct {
	pos  int
	path []step
}

// Mark remembers the value at hand. The zero Mark stands for none.
func (r *Reader) Mark() Mark { return Mark{pos: r.pos, path: append([]step(nil), r.path...)} }

// Seek positions the reader before the value that was marked.
func (r *Reader) Seek(m Mark) {
	r.pos = m.pos
	r.path = append(r.path[:0], m.path...)
}

func (r *Reader) space() {
	for r.pos < len(r.data) {
		switch r.data[r.pos] {
		case ' ', '\t', '\r', '\n':
			r.pos++
		default:
			return
		}
	}
}

// peek returns the next byte that is not white space.
func (r *Reader) peek() byte {
	r.space()
	if r.pos < len(r.data) {
		return r.data[r.pos]
	}
	return 0
}

func (r *Reader) kind() string {
	switch c := r.peek(); c {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	case 0:
		return "nothing"
	}
	return "a number"
}

func (r *Reader) expect(c byte, what string) error {
	if r.peek() != c {
		return r.Errorf("expected %s, found %s", what, r.kind())
	}
	return nil
}

// Skip passes over the value at hand.
func (r *Reader) Skip() {
	for depth := 0; ; {
		switch r.peek() {
		case 0:
			return
		case '{', '[':
			depth++
			r.pos++
		case '}', ']':
			depth--
			r.pos++
		case '"':
			r.rawString()
		case ',', ':':
			r.pos++
			continue
		default:
			for r.pos < len(r.data) && bytes.IndexByte(delimiters, r.data[r.pos]) < 0 {
				r.pos++
			}
		}
		if depth <= 0 {
			return
		}
	}
}

var delimiters = []byte(",:]} \t\r\n")

// Raw returns the bytes of the current value and skips it.
func (r *Reader) Raw() []byte {
	r.space()
	start := r.pos
	r.Skip()
	return r.data[start:r.pos]
}

// rawString skips a string and returns the text between its quotes.
func (r *Reader) rawString() (text []byte, escaped bool) {
	r.pos++
	start := r.pos
	quote := start // the next quote from pos on, looked for when it was passed
	for {
		if quote <= r.pos {
			i := bytes.IndexByte(r.data[r.pos:], '"')
			if i < 0 { // New has seen to it that this cannot be
				r.pos = len(r.data)
				return r.data[start:], escaped
			}
			quote = r.pos + i
		}
		// A backslash escapes the next character, also a quote or a backslash.
		if j := bytes.IndexByte(r.data[r.pos:quote], '\\'); j >= 0 {
			escaped = true
			r.pos += j + 2
			continue
		}
		r.pos = quote + 1
		return r.data[start:quote], escaped
	}
}

// Text returns a string's bytes; they are part of the document where the string
// has no escapes, so the caller must not keep or change them.
func (r *Reader) Text() ([]byte, error) {
	if err := r.expect('"', "a string"); err != nil {
		return nil, err
	}
	start := r.pos
	text, escaped := r.rawString()
	if !escaped {
		return text, nil
	}
	var s string
	if err := json.Unmarshal(r.data[start:r.pos], &s); err != nil {
		return nil, r.Wrap(err)
	}
	return []byte(s), nil
}

// String returns a string.
func (r *Reader) String() (string, error) {
	text, err := r.Text()
	return string(text), err
}

// Uint returns an integer from 0 to limit.
func (r *Reader) Uint(limit uint64) (uint64, error) {
	if k := r.kind(); k != "a number" {
		return 0, r.Errorf("expected a number, found %s", k)
	}
	raw := string(r.Raw())
	n, err := strconv.ParseUint(raw, 10, 64)
	if err != nil || n > limit {
		return 0, r.Errorf("expected a whole number from 0 to %d, found %.40s", limit, raw)
	}
	return n, nil
}

// Bool returns a boolean.
func (r *Reader) Bool() (bool, error) {
	switch r.peek() {
	case 't', 'f':
		return string(r.Raw()) == "true", nil
	}
	return false, r.Errorf("expected a boolean, found %s", r.kind())
}
