package dap

import (
	"strconv"
	"testing"
)

// TestSaid: a note is new once, and a session has so many.
func TestSaid(t *testing.T) {
	var s said
	if !s.first("a") || s.first("a") || !s.first("b") {
		t.Error("a note is new the first time")
	}
	n := 2
	for i := range 2 * maxSaid {
		if s.first(strconv.Itoa(i)) {
			n++
		}
	}
	if n != maxSaid {
		t.Errorf("%d notes are said, want %d", n, maxSaid)
	}
}
