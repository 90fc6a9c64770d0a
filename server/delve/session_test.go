package delve

import (
	"strings"
	"testing"
)

// TestDelvePanics: a panic of Delve's code while it opens a program is an error.
func TestDelvePanics(t *testing.T) {
	if dbg, err := newDebugger(nil, nil); dbg != nil || err == nil || !strings.Contains(err.Error(), "too damaged for Delve") {
		t.Errorf("%v, %v", dbg, err)
	}
}
