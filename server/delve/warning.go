package delve

import (
	"bufio"
	"io"
	"os"
	"strings"

	"github.com/go-delve/delve/service/debugger"

	"github.com/clewdbg/clew/server/delve/internals"
)

// newQuietDebugger makes a debugger without Delve's warning that a program without DWARF has no stacks:
// clew has them. Delve has no other way to leave it out. The program must not inherit
// this process's standard error: while Delve opens it, that is a pipe.
func newQuietDebugger(c *debugger.Config, args []string) (*debugger.Debugger, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return newDebugger(c, args)
	}
	stderr := os.Stderr
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewReader(r); ; {
			line, err := lines.ReadString('\n')
			if !strings.Contains(line, internals.NoDebugInfo) {
				_, _ = io.WriteString(stderr, line)
			}
			if err != nil {
				return
			}
		}
	}()
	os.Stderr = w
	defer func() {
		os.Stderr = stderr
		_ = w.Close()
		<-done
		_ = r.Close()
	}()
	return newDebugger(c, args)
}
