package names

import (
	"strconv"
	"strings"
)

// dValue is a template's argument that is a value. kind is the first letter of its
// type, 0 if that is not known.
type dValue struct {
	*dCursor
	kind byte
}

// read reads the value.
func (v dValue) read() string {
	switch {
	case v.skip("n"):
		return "null"
	case v.skip("i"):
		return v.integer("")
	case v.skip("N"):
		return v.integer("-")
	case isDigit(v.peek()):
		return v.integer("")
	case v.next("a"), v.next("w"), v.next("d"):
		return v.text()
	case v.kind != 'H' && v.skip("A"):
		return v.array()
	}
	return v.fail()
}

// array reads the values of an array: their number, then each.
func (v dValue) array() string {
	if !v.enter() {
		return ""
	}
	defer v.leave()
	var all []string
	for range v.number() {
		if v.failed {
			return ""
		}
		all = append(all, dValue{v.dCursor, 0}.read())
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// dSuffixes are what integers of a type end in.
var dSuffixes = map[byte]string{'h': "u", 't': "u", 'k': "u", 'l': "L", 'm': "uL"}

func (v dValue) integer(sign string) string {
	digits := v.digits()
	if digits == "" {
		return v.fail()
	}
	switch v.kind {
	case 'a', 'u', 'w':
		c, err := strconv.ParseUint(digits, 10, 8)
		if err != nil || c < ' ' || c > '~' {
			return v.fail()
		}
		return "'" + string(rune(c)) + "'"
	case 'b':
		if digits == "0" {
			return "false"
		}
		return "true"
	}
	return sign + digits + dSuffixes[v.kind]
}

// text reads a string: its type, its length, and its bytes in hexadecimal.
func (v dValue) text() string {
	unit := v.peek()
	v.at++
	n := v.number()
	if !v.skip("_") || n > (len(v.in)-v.at)/2 {
		return v.fail()
	}
	var out strings.Builder
	out.WriteByte('"')
	for range n {
		c, err := strconv.ParseUint(v.in[v.at:v.at+2], 16, 8)
		if err != nil || c < ' ' || c > '~' {
			return v.fail()
		}
		out.WriteByte(byte(c))
		v.at += 2
	}
	out.WriteByte('"')
	if unit != 'a' {
		out.WriteByte(unit)
	}
	return out.String()
}
