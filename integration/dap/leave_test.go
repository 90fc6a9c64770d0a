package dap

import (
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// attached is a process that reads lines, and a session that has attached to it
// and has stopped it in main.next.
type attached struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	err *os.File // its standard error
	s   *server
	c   *client
}

func attachToLines(t *testing.T) (a attached, stopped object) {
	exe, _ := plain(t)
	testneed.Ptrace(t)
	a.cmd = exec.Command(exe, "lines")
	var err error
	if a.err, err = os.CreateTemp(t.TempDir(), "stderr"); err != nil {
		t.Fatal(err)
	}
	a.cmd.Stderr = a.err
	if a.in, err = a.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.cmd.Process.Kill(); _ = a.err.Close() })
	a.s = start(t, binary("clew"))
	a.c = a.s.dial()
	a.c.initialize()
	a.c.ok("attach", object{"mode": "local", "processId": a.cmd.Process.Pid})
	a.c.event("initialized")
	a.c.ok("setFunctionBreakpoints", object{"breakpoints": []object{{"name": "main.next"}}})
	a.c.ok("configurationDone", nil)
	if _, err := io.WriteString(a.in, "a line\n"); err != nil {
		t.Fatal(err)
	}
	return a, a.c.event("stopped")
}

// leave ends the session, and then the process, which must be well.
func (a *attached) leave(t *testing.T, how func()) {
	t.Helper()
	how()
	if err := a.s.wait(); err != nil {
		t.Errorf("the server ends with %v; stderr: %s", err, a.s.stderr)
	}
	if err := a.in.Close(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- a.cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			text, _ := os.ReadFile(a.err.Name())
			t.Errorf("the process that was attached to ends with %v: %.300s", err, text)
		}
	case <-time.After(patience):
		t.Errorf("the process that was attached to does not end; its state is %s", processState(t, a.cmd.Process.Pid))
	}
}

// ways in which a client leaves.
var leaving = map[string]func(*attached){
	"disconnect": func(a *attached) { a.c.ok("disconnect", object{"terminateDebuggee": false}); a.c.end() },
	"vanish":     func(a *attached) { _ = a.c.conn.Close() },
	"hang up":    func(a *attached) { _ = a.s.cmd.Process.Signal(syscall.SIGHUP) },
	"terminate":  func(a *attached) { _ = a.s.cmd.Process.Signal(syscall.SIGTERM) },
}

// TestPendingTrap: Delve's request to halt may come when the process has stopped
// for a breakpoint already, and then is pending: it must not kill the process when
// the session ends.
func TestPendingTrap(t *testing.T) {
	for name, leave := range leaving {
		t.Run(name, func(t *testing.T) {
			a, _ := attachToLines(t)
			if err := syscall.Kill(a.cmd.Process.Pid, syscall.SIGTRAP); err != nil { // as Delve does
				t.Fatal(err)
			}
			a.leave(t, func() { leave(&a) })
		})
	}
}

// TestLeaveMidStep: a session that ends while a step is under way takes the step's
// breakpoints with it.
func TestLeaveMidStep(t *testing.T) {
	for name, leave := range leaving {
		t.Run(name, func(t *testing.T) {
			a, stopped := attachToLines(t)
			// It lasts until the next line comes, or the end.
			a.c.ok("stepOut", object{"threadId": threadOf(t, stopped)})
			a.leave(t, func() { leave(&a) })
		})
	}
}
