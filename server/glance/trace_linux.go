//go:build amd64 || arm64

package glance

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clewdbg/clew/server/internal/procfs"
	"github.com/clewdbg/clew/unwind"
)

// stopped is a thread that stands still, or, without registers, one that did not stop in
// time.
type stopped struct {
	id        int
	inside    uint64 // its ID in the process's own namespace
	registers unwind.Registers
}

const (
	// patience bounds how long a thread may take to stop: one in the kernel that cannot be
	// interrupted is left out.
	patience = 2 * time.Second
	nap      = 20 * time.Microsecond
)

// whileStopped stops all threads of a process, calls look, and lets them go on. paused
// is the time from the first stop to the last.
func whileStopped(pid int, look func([]stopped) error) (paused time.Duration, err error) {
	onThread(func() { paused, err = stopAll(pid, look) })
	return paused, err
}

// onThread calls f on a thread of its own, which ends with it: the kernel takes a thread for
// the tracer, and lets go of all that it still traces when it ends. One that did not stop
// in time cannot be let go of otherwise.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()              // and never unlocked
		if unix.Gettid() == unix.Getpid() { // Go does not end the main thread
			onThread(f)
			runtime.UnlockOSThread()
			return
		}
		f()
	}()
	<-done
}

// stopAll does that on the calling thread.
func stopAll(pid int, look func([]stopped) error) (paused time.Duration, err error) {
	t := &tracer{pid: pid, signals: make(map[int]int), seized: make(map[int]bool), asked: make(map[int]bool), ended: make(map[int]bool)}
	defer func() { t.leave() }()
	if _, err := t.seize(); err != nil {
		return 0, err
	}
	started := time.Now()
	for more := true; more; { // a thread that was not stopped yet may have made another
		t.interrupt()
		if more, err = t.seize(); err != nil {
			return 0, err
		}
	}
	threads := make([]stopped, 0, len(t.tids))
	for _, tid := range t.tids {
		th := stopped{id: tid}
		if _, stands := t.signals[tid]; stands {
			if th.registers, err = readRegisters(tid); err != nil {
				continue // it was killed meanwhile
			}
		}
		if !t.ended[tid] {
			threads = append(threads, th)
		}
	}
	if len(t.signals) == 0 {
		return 0, errors.New("no thread could be stopped")
	}
	err = look(threads)
	t.leave()
	return time.Since(started), err
}

// tracer has seized threads.
type tracer struct {
	pid     int
	tids    []int
	seized  map[int]bool
	asked   map[int]bool // those told to stop
	ended   map[int]bool
	signals map[int]int // of those that stand still: what to deliver when they go on
}

// seize attaches to every thread, and to those that are made meanwhile. It stops none.
// more says that there were any that it had not attached to.
func (t *tracer) seize() (more bool, err error) {
	for {
		found := false
		tids, err := tasks(t.pid)
		if err != nil {
			return more, t.refused(err)
		}
		for _, tid := range tids {
			if t.seized[tid] {
				continue
			}
			_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(tid), 0, 0, 0, 0)
			if errno == unix.ESRCH && tid != t.pid {
				continue // it has ended
			}
			if errno != 0 {
				return more, t.refused(errno)
			}
			found, more, t.seized[tid] = true, true, true
			t.tids = append(t.tids, tid)
		}
		if !found {
			return more, nil
		}
	}
}

func tasks(pid int) ([]int, error) {
	names, err := os.ReadDir(procfs.Path(pid, "task"))
	if err != nil {
		return nil, err
	}
	var out []int
	for _, n := range names {
		if tid, err := strconv.Atoi(n.Name()); err == nil {
			out = append(out, tid)
		}
	}
	return out, nil
}

// refused explains why a process cannot be traced.
func (t *tracer) refused(err error) error {
	status, readErr := procfs.ReadStatus(t.pid)
	switch {
	case errors.Is(readErr, os.ErrNotExist) || errors.Is(err, unix.ESRCH):
		return fmt.Errorf("it has ended")
	case status.Number("TracerPid") != 0:
		return fmt.Errorf("process %d is debugging it already; end that debugger first", status.Number("TracerPid"))
	}
	return fmt.Errorf("it cannot be traced: %w", err)
}

// interrupt stops the seized threads that it has not told to stop before. One that does not
// stop in time has no registers, and its goroutine no stack.
func (t *tracer) interrupt() {
	waiting := make(map[int]bool, len(t.tids))
	for _, tid := range t.tids {
		if !t.asked[tid] && unix.PtraceInterrupt(tid) == nil {
			waiting[tid] = true
		}
		t.asked[tid] = true
	}
	for deadline := time.Now().Add(patience); len(waiting) > 0 && time.Now().Before(deadline); {
		progress := false
		for tid := range waiting {
			var status unix.WaitStatus
			got, err := unix.Wait4(tid, &status, unix.WALL|unix.WNOHANG, nil)
			if err == nil && got == 0 {
				continue
			}
			progress = true
			delete(waiting, tid)
			if err == nil && status.Stopped() {
				t.signals[tid] = deliver(status)
			} else {
				t.ended[tid] = true
			}
		}
		if !progress {
			time.Sleep(nap)
		}
	}
}

// deliver is the signal that a thread stopped for and still has to get; a stop by the
// interrupt, or of a process that was stopped already, has none.
func deliver(s unix.WaitStatus) int {
	if int(s)>>16 != 0 { // an event: PTRACE_EVENT_STOP
		return 0
	}
	return int(s.StopSignal())
}

// leave lets all threads go on, as they were before.
func (t *tracer) leave() {
	for _, tid := range t.tids {
		_, _, _ = unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(tid), 0, uintptr(t.signals[tid]), 0, 0)
	}
	t.tids = nil
}
