package printable_test

import (
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
