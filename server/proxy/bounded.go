package proxy

import (
	"errors"
	"net"
)

// bounded is a connection to a server on which an answer that is too long to be kept is an error.
type bounded struct {
	net.Conn
	limit  int
	answer object
}

// maxAnswer is far above the longest answer of Delve's: the types of a large program.
const maxAnswer = 256 << 20

var errTooLong = errors.New("the server's answer is too long")

// Read implements [io.Reader].
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	if b.answer.feed(p[:n]); b.answer.length > b.limit {
		return n, errTooLong
	}
	return n, err
}

// object follows the JSON objects in a stream that comes in pieces. It checks only brackets and
// strings; in data that is not JSON it may find anything.
type object struct {
	length, depth   int // so far; 0 between objects
	inText, escaped bool
}

// feed takes the next piece.
func (o *object) feed(p []byte) {
	for _, b := range p {
		if o.depth == 0 && b != '{' && b != '[' {
			continue
		}
		o.length++
		if o.scan(b); o.depth == 0 {
			o.length = 0
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
	case b == '}' || b == ']':
		o.depth--
	}
}
