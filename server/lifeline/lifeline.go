// Package lifeline keeps a debuggee from outliving a debugger that is killed.
//
// When a tracer dies the kernel lets its tracees run on: a program that we
// launched, and that nobody is watching any more, would go on in the
// background. A small process of its own, with the debugger at the other end of
// its standard input, kills it when that end closes without a word. A program
// that we only attached to is left to run, as the kernel does.
package lifeline

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// Line is a running guard.
type Line struct {
	in  io.WriteCloser
	cmd *exec.Cmd
}

// Start runs the guard: exe with args must call [Serve].
func Start(exe string, args ...string) (*Line, error) {
	cmd := exec.Command(exe, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // not in our terminal's group: Ctrl-C is not for it
	cmd.Dir = "/"
	cmd.Env = []string{}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start guard: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start guard: %w", err)
	}
	return &Line{in: in, cmd: cmd}, nil
}

// Guard has the process killed if we die.
func (l *Line) Guard(pid int) error {
	_, err := fmt.Fprintf(l.in, "%d\n", pid)
	return err
}

// Release ends the guard and spares the process.
func (l *Line) Release() {
	_, _ = fmt.Fprintln(l.in, "done")
	_ = l.in.Close()
	// The exit status may have gone to a debugger's wait4(-1).
	_ = l.cmd.Wait()
}

// Serve is the guard: it reads process IDs, one a line, until "done", which
// spares them, or the end of the input, which kills them.
func Serve(in io.Reader) {
	pids := map[int]string{}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if lines.Text() == "done" {
			return
		}
		if pid, err := strconv.Atoi(lines.Text()); err == nil && pid > 1 {
			pids[pid] = startTime(pid)
		}
	}
	for pid, started := range pids {
		if started != "" && startTime(pid) == started { // not another one by now
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// startTime is when a process was started (field 22 of /proc/PID/stat), which
// tells it from a later one with the same ID; "" if it is gone.
func startTime(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The second field, the name in parentheses, may hold spaces
	// and parentheses.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const start = 22 - 3
	if len(fields) <= start {
		return ""
	}
	return fields[start]
}
