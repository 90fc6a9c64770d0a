package terminal

import (
	"strings"
	"testing"
)

// TestAfterEnd: each command about a program that has ended has an answer, and none is an internal error.
func TestAfterEnd(t *testing.T) {
	need(t)
	p, err := plain()
	if err != nil {
		t.Fatal(err)
	}
	s := session{tool: "clew", args: []string{"exec"}, target: []string{p}, script: []string{
		"continue", "vars main", "libraries", "threads", "disassemble", "examinemem 0x1000", "types main", "whatis main.main", "regs -a", "locals", "args", "goroutine 1",
		"goroutines", "stack", "print runtime.ncpu", "set runtime.ncpu = 1", "list main.main", "funcs main.main", "target list", "watch -w runtime.ncpu", "ancestors 1",
		"deferred 1 print 1", "frame 0", "up", "call main.main()", "next", "step", "stepout", "continue", "thread 1", "trace main.main", "breakpoints", "sources main.go", "packages", "display -a 1",
	}}
	out := s.play(t)
	if strings.Contains(out, "nternal debugger error") || strings.Count(out, "has exited with status") < 20 {
		t.Error(out)
	}
}
