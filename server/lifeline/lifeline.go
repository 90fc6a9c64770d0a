// Package lifeline keeps a debuggee from suffering when its debugger is killed.
//
// When a tracer dies the kernel lets its tracees go on, with three faults. A program that we launched runs on in the background, without a
// debugger. A program that we attached to stays stopped: the SIGSTOP
// that held it is delivered after all. And breakpoints stay in its code, each a
// SIGTRAP that kills it. The guard is a small process of its own, with the debugger
// at the other end of its standard input. When that end closes without a message, it
// kills a launched program, and restores and continues an attached one.
package lifeline

import (
	"fmt"
	"io"
	"os"
	"os/exec"
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

// Patch is original code where a breakpoint was written.
type Patch struct {
	Addr     uint64
	Original []byte
}

// Launch announces that we are about to start the program at path: if we die
// before [Line.Kill] names its process, the guard finds it among our orphans.
func (l *Line) Launch(path string) error {
	session, _, err := syscall.RawSyscall(syscall.SYS_GETSID, 0, 0, 0)
	if err != 0 {
		return fmt.Errorf("own session: %w", err)
	}
	return l.send("%s %d %d %q\n", wordLaunch, os.Getpid(), session, path)
}

// Attach announces that we are about to attach to the process: if we die before
// [Line.Continue] tells which breakpoints there are, the guard finds them by
// comparing the program with its file.
func (l *Line) Attach(pid int) error { return l.send("%s %d\n", wordAttach, pid) }

// Kill has the process killed if we die.
func (l *Line) Kill(pid int) error { return l.send("%s %d\n", wordKill, pid) }

// Continue has the process mended and continued if we die.
func (l *Line) Continue(pid int, patches []Patch) error {
	for _, p := range patches {
		if err := l.send("%s %d %#x %x\n", wordPatch, pid, p.Addr, p.Original); err != nil {
			return err
		}
	}
	return l.send("%s %d\n", wordContinue, pid)
}

func (l *Line) send(format string, a ...any) error {
	_, err := fmt.Fprintf(l.in, format, a...)
	return err
}

// Release ends the guard and spares the process.
func (l *Line) Release() {
	_ = l.send("%s\n", wordDone)
	_ = l.in.Close()
	// The exit status may have gone to a debugger's wait4(-1).
	_ = l.cmd.Wait()
}

// The words of the guard's language, one line each.
const (
	wordLaunch   = "launch"   // HOST-PID SESSION-ID QUOTED-PATH
	wordAttach   = "attach"   // PID
	wordKill     = "kill"     // PID
	wordContinue = "continue" // PID
	wordPatch    = "patch"    // PID ADDRESS BYTES
	wordDone     = "done"     // do nothing
)
