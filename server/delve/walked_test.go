package delve

import "testing"

// TestWalkedFields: the private fields through which a stack is walked ahead are
// still there. Without them clew works, and its answers take longer.
func TestWalkedFields(t *testing.T) {
	if _, err := theWalkedFields(); err != nil {
		t.Error(err)
	}
}
