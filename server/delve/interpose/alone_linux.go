package interpose

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/go-delve/delve/pkg/proc"
	"golang.org/x/sys/unix"
)

// alone is how long a thread may run while the others stand. A sequence that waits for one of them, a spinlock's, has no end by then.
const alone = 100 * time.Millisecond

// faults are the signals that an instruction may cause. They come again when it is executed again.
var faults = []syscall.Signal{syscall.SIGILL, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGSEGV, syscall.SIGSTKFLT}

// runAlone has one thread of a process run, whose other threads stand, until it comes to a breakpoint instruction, or time is up.
// It is left where it receives a signal by its own fault. Other
// signals are sent again. trace runs a function on the thread that traces the process.
func runAlone(trace func(func()), pid, tid int) (err error) {
	a := loneThread{pid: pid, tid: tid, until: time.Now().Add(alone)}
	defer func() {
		for _, sig := range a.others {
			if sent := unix.Tgkill(pid, tid, sig); err == nil && !errors.Is(sent, unix.ESRCH) {
				err = sent
			}
		}
	}()
	for {
		trace(func() { err = unix.PtraceCont(tid, 0) })
		if err != nil {
			return fmt.Errorf("thread %d does not go on: %w", tid, err)
		}
		status, err := a.wait()
		if err != nil {
			return err
		}
		switch sig := status.StopSignal(); {
		case sig == unix.SIGSTOP && a.halted, sig == unix.SIGTRAP && !a.halted, slices.Contains(faults, sig) && !a.halted:
			return nil
		case sig != unix.SIGSTOP && sig != unix.SIGTRAP && !slices.Contains(faults, sig): // Delve ignores a stop that comes late, too
			a.others = append(a.others, sig)
		}
	}
}

// loneThread is what runs.
type loneThread struct {
	pid, tid int
	until    time.Time
	halted   bool // by a signal that has not come yet
	others   []syscall.Signal
}

// wait waits until it stops. When time is up it sends a signal.
func (a *loneThread) wait() (status unix.WaitStatus, err error) {
	for pause := time.Microsecond; ; pause = min(2*pause, time.Millisecond) {
		got, err := unix.Wait4(a.tid, &status, unix.WALL|unix.WNOHANG, nil)
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return status, fmt.Errorf("wait for thread %d: %w", a.tid, err)
		case got == a.tid && status.Stopped():
			return status, nil
		case got == a.tid && status.Exited():
			return status, proc.ErrProcessExited{Pid: a.pid, Status: status.ExitStatus()}
		case got == a.tid:
			return status, proc.ErrProcessExited{Pid: a.pid, Status: -int(status.Signal())}
		}
		if !a.halted && time.Now().After(a.until) {
			a.halted = true
			if err := unix.Tgkill(a.pid, a.tid, unix.SIGSTOP); err != nil && !errors.Is(err, unix.ESRCH) {
				return status, err
			}
		}
		time.Sleep(pause)
	}
}
