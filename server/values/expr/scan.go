package expr

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds on an expression.
const (
	maxLength = 4 << 10
	maxNested = 100
)

// Error is a fault of an expression's text, at an offset in it.
type Error struct {
	Text string
	At   int
	What string
}

// Error shows what was read before the fault.
func (e *Error) Error() string {
	if rest := e.Text[min(e.At, len(e.Text)):]; rest != "" {
		return fmt.Sprintf("%s, at %q", e.What, rest)
	}
	return e.What + ", at the end"
}

type kind uint8

const (
	end kind = iota
	name
	number
	character
	text
	register
	sign
)

type token struct {
	kind kind
	text string
	at   int
}

// signs are those of several characters, the longer ones first.
var signs = []string{"<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "->", "::"}

// scan splits a text into tokens.
func scan(in string) (out []token, err error) {
	if len(in) > maxLength {
		return nil, &Error{in, 0, fmt.Sprintf("an expression of more than %d bytes", maxLength)}
	}
	for at := 0; at < len(in); {
		rest := in[at:]
		r, size := utf8.DecodeRuneInString(rest)
		switch {
		case unicode.IsSpace(r):
			at += size
			continue
		case isName(r, true):
			n := word(rest)
			out = append(out, token{name, rest[:n], at})
			at += n
		case r == '$':
			n := 1 + word(rest[1:])
			out = append(out, token{register, rest[1:n], at})
			at += n
		case unicode.IsDigit(r):
			n := digits(rest)
			out = append(out, token{number, rest[:n], at})
			at += n
		case r == '\'' || r == '"':
			n := quoted(rest)
			if n == 0 {
				return nil, &Error{in, at, "a quotation without end"}
			}
			k := character
			if r == '"' {
				k = text
			}
			out = append(out, token{k, rest[:n], at})
			at += n
		default:
			s := rest[:size]
			for _, long := range signs {
				if strings.HasPrefix(rest, long) {
					s = long
					break
				}
			}
			out = append(out, token{sign, s, at})
			at += len(s)
		}
	}
	return append(out, token{end, "", len(in)}), nil
}

func isName(r rune, first bool) bool {
	return r == '_' || unicode.IsLetter(r) || !first && unicode.IsDigit(r)
}

func word(s string) (n int) {
	for i, r := range s {
		if !isName(r, i == 0) && !(i > 0 && isName(r, false)) {
			return i
		}
	}
	return len(s)
}

// digits is the length of a number.
func digits(s string) (n int) {
	for n < len(s) {
		c := s[n]
		exponent := n > 0 && (c == '+' || c == '-') && (s[n-1] == 'e' || s[n-1] == 'E') && !strings.HasPrefix(s, "0x")
		point := c == '.' && n+1 < len(s) && s[n+1] >= '0' && s[n+1] <= '9' && !strings.ContainsAny(s[:n], ".xX")
		if c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && !exponent && !point {
			break
		}
		n++
	}
	return n
}

// quoted is the length of what stands in quotation marks.
func quoted(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		}
	}
	return 0
}
