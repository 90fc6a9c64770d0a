package editors

import (
	"strings"
	"testing"
)

// TestRow: a step that was not reached, a frame that lacks and a process that is left are failures.
func TestRow(t *testing.T) {
	good := func() shown {
		return facts("breakpoint in C: native.c:9\nstack: whisk froth x main.refill main.pour y crush grind main.brew main.main runtime.goexit\n" +
			"step out of C: native.c:15\nagain, to Go: main.go:51\nrestart: native.c:9\nterminate: ended\n")
	}
	for _, c := range []struct {
		name, says string
		change     func(shown)
		left       int
		ok         bool
	}{
		{"all", "| 11 frames, to runtime.goexit |", func(shown) {}, 0, true},
		{"left", "| ended, 2 processes left |", func(shown) {}, 2, false},
		{"no restart", "| no |", func(s shown) { delete(s, "restart") }, 0, false},
		{"a frame lacks", "| 2 frames, to froth |", func(s shown) { s["stack"] = "whisk froth" }, 0, false},
		{"elsewhere", "| main.go:52 |", func(s shown) { s["again, to Go"] = "main.go:52" }, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := good()
			c.change(s)
			var out strings.Builder
			if ok := s.row(&out, "an editor", "clew", c.left); ok != c.ok || !strings.Contains(out.String(), c.says) {
				t.Errorf("%v: %s", ok, out.String())
			}
		})
	}
}
