package bounded

import (
	"errors"
	"io"
)

// maxDepth is the nesting that encoding/json accepts. Beyond it a caller that waits for an answer is not told the reason.
const maxDepth = 10_000

// ErrDeep says that a JSON object holds others too deep.
var ErrDeep = errors.New("its JSON is nested more than 10,000 deep")

// Reader is a stream of JSON in which an object that is too long is an error.
type Reader struct {
	from    io.Reader
	most    int
	tooLong error
	now     object
}

// NewReader returns a reader of a stream whose objects have at most so many bytes. tooLong is its error behind more.
func NewReader(from io.Reader, most int, tooLong error) *Reader {
	return &Reader{from: from, most: most, tooLong: tooLong}
}

// Read implements [io.Reader].
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	switch r.now.feed(p[:n]); {
	case r.now.length > r.most:
		return n, r.tooLong
	case r.now.deepest > maxDepth:
		return n, ErrDeep
	}
	return n, err
}

// object follows the JSON values in a stream that comes in pieces. It checks only brackets and
// texts; in data that is not JSON it may find anything.
type object struct {
	length, depth   int // so far, with the white space before it: encoding/json keeps that too
	deepest         int // of all values so far
	begun           bool
	inText, escaped bool
}

// feed takes the next piece.
func (o *object) feed(p []byte) {
	for _, b := range p {
		o.length++
		o.scan(b)
		if o.depth > 0 || o.inText {
			o.begun = true
			continue
		}
		switch b {
		case '}', ']', '"':
			o.length, o.begun = 0, false
		case ' ', '\t', '\n', '\r':
			if o.begun { // the end of a number or word
				o.length, o.begun = 0, false
			}
		default:
			o.begun = true
		}
	}
}

// scan follows strings and brackets.
func (o *object) scan(b byte) {
	switch {
	case o.escaped:
		o.escaped = false
	case o.inText:
		o.escaped = b == '\\'
		o.inText = b != '"'
	case b == '"':
		o.inText = true
	case b == '{' || b == '[':
		o.depth++
		o.deepest = max(o.deepest, o.depth)
	case b == '}' || b == ']':
		o.depth = max(0, o.depth-1)
	}
}
