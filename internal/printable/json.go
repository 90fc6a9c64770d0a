package printable

import (
	"fmt"
	"unicode/utf8"
)

// JSON returns a JSON text with every character that [Safe] escapes written as JSON escapes it: "\u202e". The value is the same.
// encoding/json escapes control characters below 0x20 alone.
func JSON(text []byte) []byte {
	var out []byte
	from := 0
	for i := 0; i < len(text); {
		if text[i] < 0x7f { // a control character there is white space between values, or encoding/json's escape
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		if n > 1 && bites(r) || r == 0x7f {
			out = fmt.Appendf(append(out, text[from:i]...), `\u%04x`, r)
			from = i + n
		}
		i += n
	}
	if out == nil {
		return text
	}
	return append(out, text[from:]...)
}
