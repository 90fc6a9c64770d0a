package frames

import (
	"fmt"
	"testing"
)

// TestNotes: a note is shown once, and a session has a bounded number of them.
func TestNotes(t *testing.T) {
	var shown []string
	n := notes{console: func(text string) { shown = append(shown, text) }}
	n.show([]string{"a", "b", "a"})
	n.show([]string{"b"})
	if fmt.Sprint(shown) != "[clew: a clew: b]" {
		t.Errorf("%q", shown)
	}
	n.show([]string{"dwarfcfi failed and was left out: late"})
	n.show([]string{"dwarfcfi failed and was left out: late", "a"})
	if shown = shown[2:]; len(shown) != 2 || shown[0] != shown[1] {
		t.Errorf("of a strategy that failed at two stops: %q", shown)
	}
	shown = append(shown, "") // as many as before
	for i := range 2 * maxNotes {
		n.show([]string{fmt.Sprint(i)})
	}
	if len(shown) != maxNotes {
		t.Errorf("%d notes were shown", len(shown))
	}
}
