package document

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// pathText is a path as JSON text. A path is bytes; those that are not UTF-8
// become the surrogates U+DC80 to U+DCFF, which no UTF-8 text contains (PEP 383).
type pathText string

// The escapes of the bytes 0x80 to 0xff begin so; two digits follow.
const byteEscape = `\udc`

// MarshalJSON implements [json.Marshaler].
func (p pathText) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(p)) {
		return stackjson.Marshal(string(p))
	}
	out := []byte{'"'}
	for s := string(p); s != ""; {
		n := 0
		for n < len(s) {
			r, size := utf8.DecodeRuneInString(s[n:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			n += size
		}
		text, err := stackjson.Marshal(s[:n])
		if err != nil {
			return nil, err
		}
		out = append(out, text[1:len(text)-1]...)
		if n < len(s) {
			out = fmt.Appendf(out, byteEscape+"%02x", s[n])
			n++
		}
		s = s[n:]
	}
	return append(out, '"'), nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (p *pathText) UnmarshalJSON(text []byte) error {
	if len(text) < 2 || text[0] != '"' {
		// null, and the error for a value that is no string.
		return json.Unmarshal(text, (*string)(p))
	}
	var path strings.Builder
	body := text[1 : len(text)-1]
	from := 0
	flush := func(to int) error {
		if from == to {
			return nil
		}
		quoted := append(append([]byte{'"'}, body[from:to]...), '"')
		var s string
		if err := json.Unmarshal(quoted, &s); err != nil {
			return err
		}
		path.WriteString(s)
		return nil
	}
	paired := false // the escape before was the first half of a pair
	for i := 0; i < len(body); {
		if body[i] != '\\' || i+1 == len(body) {
			paired = false
			i++
			continue
		}
		if body[i+1] != 'u' || i+6 > len(body) {
			paired = false
			i += 2
			continue
		}
		var unit uint16
		if _, err := fmt.Sscanf(string(body[i+2:i+6]), "%04x", &unit); err != nil {
			return fmt.Errorf("path: %w", err)
		}
		if !paired && unit >= 0xdc80 && unit <= 0xdcff {
			if err := flush(i); err != nil {
				return err
			}
			path.WriteByte(byte(unit))
			from = i + 6
		}
		paired = unit >= 0xd800 && unit < 0xdc00
		i += 6
	}
	if err := flush(len(body)); err != nil {
		return err
	}
	*p = pathText(path.String())
	return nil
}
