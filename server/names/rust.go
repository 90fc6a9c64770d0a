package names

import (
	"strconv"
	"strings"
	"unicode"
)

// rust returns the name that a Rust compiler mangled, in the older form (_ZN...17h and a hash) or in version 0 (_R), as
// the crate rustc-demangle writes it without hashes. What follows a dot behind it (.llvm.123, .cold) is left out. ok says whether the
// symbol is Rust's.
//
// The library for C++ reads Rust too, but a leading underscore of a name is lost (Rust's own filters of backtraces look for
// __rust_begin_short_backtrace), it takes a number with a leading zero for one, and writes :: before nothing.
func rust(symbol string) (name string, ok bool) {
	if v0, found := strings.CutPrefix(symbol, "_R"); found {
		v0, _, _ = strings.Cut(v0, ".")
		return rustV0(v0)
	}
	old, found := strings.CutPrefix(symbol, "_ZN")
	if !found {
		return "", false
	}
	return rustLegacy(old)
}

const hashLength = len("h0123456789abcdef")

// rustLegacy reads names as compilers wrote them before version 0: each part with its length, the last one a hash.
func rustLegacy(in string) (name string, ok bool) {
	var parts []string
	for in != "" && in[0] != 'E' {
		digits := len(in) - len(strings.TrimLeft(in, "0123456789"))
		n, err := strconv.Atoi(in[:digits])
		if err != nil || n <= 0 || n > len(in)-digits {
			return "", false
		}
		parts = append(parts, in[digits:digits+n])
		in = in[digits+n:]
	}
	last := len(parts) - 1
	if last < 1 || in == "" || len(in) > 1 && in[1] != '.' || !isHash(parts[last]) {
		return "", false
	}
	var out strings.Builder
	for i, part := range parts[:last] {
		if i > 0 {
			out.WriteString("::")
		}
		unescape(&out, part)
		if out.Len() > longest {
			return out.String()[:longest], true
		}
	}
	return out.String(), true
}

func isHash(part string) bool {
	return len(part) == hashLength && part[0] == 'h' && strings.Trim(part[1:], "0123456789abcdef") == ""
}

// escapes are the characters that have names in symbols.
var escapes = map[string]string{"SP": "@", "BP": "*", "RF": "&", "LT": "<", "GT": ">", "LP": "(", "RP": ")", "C": ","}

// unescape writes a part of a name. From what cannot be read on it stays as it is.
func unescape(out *strings.Builder, part string) {
	if strings.HasPrefix(part, "_$") { // which keeps a part from beginning with a dollar sign
		part = part[1:]
	}
	for part != "" {
		next := strings.IndexAny(part, "$.")
		switch {
		case next < 0:
			out.WriteString(part)
			return
		case next > 0:
			out.WriteString(part[:next])
			part = part[next:]
		case strings.HasPrefix(part, ".."):
			out.WriteString("::")
			part = part[2:]
		case part[0] == '.':
			out.WriteByte('.')
			part = part[1:]
		default:
			code, rest, ok := strings.Cut(part[1:], "$")
			text, known := escapes[code]
			if !known {
				text, known = escaped(code)
			}
			if !ok || !known {
				out.WriteString(part)
				return
			}
			out.WriteString(text)
			part = rest
		}
	}
}

// escaped reads u and a character's number.
func escaped(code string) (string, bool) {
	digits, ok := strings.CutPrefix(code, "u")
	n, err := strconv.ParseUint(digits, 16, 32)
	if !ok || err != nil || n > unicode.MaxRune || unicode.IsControl(rune(n)) || strings.ToLower(digits) != digits {
		return "", false
	}
	return string(rune(n)), true
}
