package expr

import (
	"fmt"
	"strings"
	"testing"
)

func isPoint(name string) bool { return name == "Point" || name == "ns::T<int>" }

// TestParse: operations bind as in C, and what is a cast is told from brackets.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"a+b*c":            "{+ {a} {* {b} {c}}}",
		"*p->next.x":       "{* {{{p} next true} x false}}",
		"(Point)-1":        "cast Point",
		"(a)-1":            "{- {a} {1",
		"(unsigned char)x": "cast unsigned char",
		"v[1][2]":          "{{{v} {1",
		"p[0:8]":           "{{p} {0",
		"x.0.1":            "{{{x} 0 false} 1 false}",
		"$rax == 0x10":     "{== {rax} {16",
		"'f.c'::n":         "{f.c n}",
		"ns::v":            "{ns::v}",
		"(ns::T<int>*)p":   "cast ns::T<int>",
		"a < b":            "{< {a} {b}}",
		"a ? b : c ? d:e":  "{{a} {b} {{c} {d} {e}}}",
		"v[a ? 1 : 2]":     "{{v} {{a} {1",
	} {
		n, err := Parse(text, isPoint)
		got := strings.ReplaceAll(fmt.Sprint(n), "{ ", "{")
		if c, ok := n.(Cast); ok {
			got = "cast " + c.To.Name
		}
		if err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"a +": "at the end", "a ? b": ": is missing", "f(1)": "nothing is called", "a b": `"b"`, "[1]": "no value", "'x": "without end", strings.Repeat("(", 200) + "a": "within each other", "1x": "no number", "": "missing",
	} {
		if _, err := Parse(text, isPoint); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// FuzzParse: no text makes it panic.
func FuzzParse(f *testing.F) {
	f.Add("(Point*)&a[1]->b::c<d>.0 + 'f.c'::x")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = Parse(text, isPoint) })
}
