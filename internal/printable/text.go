package printable

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s with everything that is not printable, as [strconv.IsPrint] has it,
// and every byte that is no UTF-8 written as Go escapes it: \x1b, \n, \u202e.
func Text(s string) string { return escape(s, hidden) }

// Safe returns s with only that escaped which takes over a terminal, fakes a line or reorders text: control characters but
// tabs, marks of direction, and bytes that are no UTF-8. Spaces of every kind stay, so that a path is still the path.
func Safe(s string) string { return escape(s, bites) }

// Lines returns s, which may have several lines, with each of them as [Safe] returns it.
func Lines(s string) string {
	return escape(s, func(r rune) bool { return r != '\n' && bites(r) })
}

func escape(s string, hidden func(rune) bool) string {
	if strings.IndexFunc(s, hidden) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 || hidden(r) {
			quoted := strconv.Quote(s[:n])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// Line returns s as one printable line. The lines of a joined error become clauses,
// parted by semicolons.
func Line(s string) string {
	return Text(strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "; "))
}

func hidden(r rune) bool { return !strconv.IsPrint(r) }

func bites(r rune) bool {
	return r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}
