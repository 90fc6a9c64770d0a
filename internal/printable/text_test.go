package printable_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/clewdbg/clew/internal/printable"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"main.run":           "main.run",
		"Grüße ⟨T⟩":          "Grüße ⟨T⟩",
		"a\x1bcb":            `a\x1bcb`,
		"a\nb":               `a\nb`,
		"\u202egnp.exe":      `\u202egnp.exe`,
		"bad\xff\xfeutf":     `bad\xff\xfeutf`,
		"tab\tand\u00a0wide": `tab\tand\u00a0wide`,
	} {
		if got := printable.Text(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	if got, want := printable.Line("first\nsecond \x1b[2J\n"), `first; second \x1b[2J`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSafe(t *testing.T) {
	for in, want := range map[string]string{
		"/home/マイ　フ/a b.go":         "/home/マイ　フ/a b.go",
		"a\x1b[2J\nb\tc\u009b":      `a\x1b[2J\nb` + "\t" + `c\u009b`,
		"\u202egnp.exe\u2066\u2028": `\u202egnp.exe\u2066\u2028`,
		"bad\xff":                   `bad\xff`,
	} {
		if got := printable.Safe(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	if got, want := printable.Lines("a\x1b\nb\n"), `a\x1b`+"\nb\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"Grüße \u001b"}`:                      `{"a":"Grüße \u001b"}`,
		"{\n\t\"a\u009b[\":\"\u202e\u2066\x7f\"}\n": "{\n\t" + `"a\u009b[":"\u202e\u2066\u007f"}` + "\n",
		"\"\xff\u061c\"":                            "\"\xff" + `\u061c"`,
	} {
		got := printable.JSON([]byte(in))
		if string(got) != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
		var a, b any
		if json.Unmarshal([]byte(in), &a) != nil || json.Unmarshal(got, &b) != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%q is another value than %q", got, in)
		}
	}
}
