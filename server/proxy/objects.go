package proxy

import (
	"bytes"
	"encoding/json"
)

// objects finds the JSON objects in a stream that comes in pieces, as
// net/rpc/jsonrpc writes them. It checks only brackets and strings; in data that is
// not JSON it may find anything.
type objects struct {
	// found is called with the first limit bytes of each object; whole says that these
	// are all of it.
	limit int
	found func(object []byte, whole bool)

	depth           int
	inText, escaped bool
	held            []byte
	length          int
}

// feed takes the next piece.
func (o *objects) feed(p []byte) {
	for _, b := range p {
		if o.depth == 0 && b != '{' && b != '[' {
			continue
		}
		o.length++
		if len(o.held) < o.limit {
			o.held = append(o.held, b)
		}
		if o.scan(b); o.depth == 0 {
			o.found(o.held, o.length == len(o.held))
			o.held, o.length = o.held[:0], 0
		}
	}
}

// scan follows strings and brackets.
func (o *objects) scan(b byte) {
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

// whole reports whether the stream ends between objects.
func (o *objects) whole() bool { return o.depth == 0 }

// leadingID reads the ID of an answer that may be cut off. Go's server writes the ID
// first; in a complete answer it may be anywhere.
func leadingID(object []byte) (json.RawMessage, bool) {
	if rest, ok := bytes.CutPrefix(object, []byte(`{"id":`)); ok {
		if end := bytes.IndexByte(rest, ','); end > 0 && json.Valid(rest[:end]) {
			return bytes.Clone(rest[:end]), true
		}
	}
	var r struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(object, &r) != nil || r.ID == nil {
		return nil, false
	}
	return r.ID, true
}
