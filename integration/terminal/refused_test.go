package terminal

import (
	"strings"
	"testing"
)

// TestRefusedStep: the terminal goes on after a refused step. Steps are refused at the loader's first instruction: it has no caller.
func TestRefusedStep(t *testing.T) {
	need(t)
	p := native(t, "linked-O2-omit-stripped")
	s := session{tool: "clew", args: []string{"exec"}, target: []string{p.Path, "plain", "int3"}, env: p.Env(), script: []string{"stepout", "next", "step", "config max-string-len 77", "config -list"}}
	out := s.play(t)
	if refused := strings.Count(out, " refused: "); refused < 2 || strings.Count(out, "77") == 0 {
		t.Errorf("%d steps were refused:\n%s", refused, out)
	}
}
