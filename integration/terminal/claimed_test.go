package terminal

import (
	"strings"
	"testing"
)

// TestClaimedGoroutines: a goroutine that the runtime's list does not have is not looked for in 2^60 entries.
func TestClaimedGoroutines(t *testing.T) {
	need(t)
	p, err := plain()
	if err != nil {
		t.Fatal(err)
	}
	s := session{tool: "clew", args: []string{"exec"}, target: []string{p}, script: []string{
		"break main.main", "continue", "print runtime.allglen", "set runtime.allglen = 1152921504606846976", "print runtime.allglen", "goroutine 4711", "goroutines", "goroutine 1"}}
	out := s.play(t)
	for _, want := range []string{"unknown goroutine 4711", "so the runtime's list is damaged", "Switched from 1 to 1"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q:\n%s", want, out)
		}
	}
}
