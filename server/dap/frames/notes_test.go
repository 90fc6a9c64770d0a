package frames

import (
	"strconv"
	"testing"
)

// TestNotes: a note is new once, and a session has so many.
func TestNotes(t *testing.T) {
	var s notes
	if !s.first("a") || s.first("a") || !s.first("b") {
		t.Error("a note is new the first time")
	}
	n := 2
	for i := range 2 * maxNotes {
		if s.first(strconv.Itoa(i)) {
			n++
		}
	}
	if n != maxNotes {
		t.Errorf("%d notes are shown, want %d", n, maxNotes)
	}
}
