package proxy

import (
	"bytes"
	"encoding/json"
)

// objects finds the JSON values of a stream that comes in pieces: objects one
// behind the other, as net/rpc/jsonrpc writes them. It checks no more than
// brackets and strings; in what is no JSON it finds something or nothing.
type objects struct {
	// limit is how much of an object is kept, in bytes, and found takes that; whole
	// says that it is all of it.
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
			if o.depth--; o.depth == 0 {
				o.found(o.held, o.length == len(o.held))
				o.held, o.length = o.held[:0], 0
			}
		}
	}
}

// whole says that the stream stands between objects.
func (o *objects) whole() bool { return o.depth == 0 }

// leadingID reads the number of an answer, of which only the beginning may be
// there. Go's server has it in front; of one that is whole it is found anywhere.
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
