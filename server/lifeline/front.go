package lifeline

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A guard mends what a dead tracer has left, and cannot mend all: what its program does between the tracer's
// end and the guard's work is lost. A thread that has just executed a breakpoint instruction is killed by its SIGTRAP, or goes on
// in the middle of an instruction; so is one that is in a single step, or comes to a watchpoint.
//
// So a process that attaches to another is not the one that is seen, and killed. It is behind a front: a process that does nothing but wait
// for it (cmd/clew/early). It learns that its front is gone by a pipe, and lets go of the program in order.

// frontEnv is the variable that names the pipe's file descriptor.
const frontEnv = "CLEW_FRONT"

// frontGrace is the time that a session has to end when its front is gone. Then it ends at once, and the guard mends.
const frontGrace = 10 * time.Second

// BehindFront returns a channel that is closed when this process's front is gone, nil if it has none.
var BehindFront = sync.OnceValue(func() <-chan struct{} {
	fd, err := strconv.Atoi(os.Getenv(frontEnv))
	_ = os.Unsetenv(frontEnv) // what this process starts has another front, or none
	if err != nil || fd <= 2 {
		return nil
	}
	syscall.CloseOnExec(fd)
	pipe, gone := os.NewFile(uintptr(fd), "front"), make(chan struct{})
	go func() {
		_, _ = pipe.Read(make([]byte, 1)) // nothing is written to it
		time.AfterFunc(frontGrace, func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) })
		close(gone)
	}()
	return gone
})

// Front runs this process's command in another one, and waits for it. It returns the exit code.
func Front() (code int, err error) {
	exe, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("cannot find clew's own executable: %w", err)
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer ours.Close()
	// What this process has inherited the other one inherits under the same numbers (--log-dest=3), so the pipe takes one that is free.
	fd, err := unix.FcntlInt(theirs.Fd(), unix.F_DUPFD, 3)
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(exe, os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", frontEnv, fd))
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	err = cmd.Start()
	_, _ = theirs.Close(), syscall.Close(fd)
	if err != nil {
		return 0, fmt.Errorf("start the session: %w", err)
	}
	go func() {
		for s := range signals {
			if (s == syscall.SIGINT || s == syscall.SIGQUIT) && inForeground() {
				continue // the terminal has sent it to both
			}
			_ = cmd.Process.Signal(s)
		}
	}()
	err = cmd.Wait()
	if errors.As(err, new(*exec.ExitError)) {
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return 128 + int(status.Signal()), nil
		}
		return cmd.ProcessState.ExitCode(), nil
	}
	return 0, err
}

// inForeground says that a terminal sends its signals to this process's group.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == syscall.Getpgrp()
}
