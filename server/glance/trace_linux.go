//go:build amd64 || arm64

package glance

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clewdbg/clew/server/internal/procfs"
	"github.com/clewdbg/clew/unwind"
)

// stopped is a thread that stands still, or one that did not stop.
type stopped struct {
	id        int
	inside    uint64 // its ID in the process's own namespace
	registers unwind.Registers
	late      *LateThread // nil for one that stands still
}

const (
	first = -20 // priority of a thread while the process stands still

	// fewThreads are handled without a look at the clock.
	fewThreads = 64
	nap        = 20 * time.Microsecond
	// firstLook is when it is first looked at why threads do not stop.
	firstLook = 2 * time.Millisecond
)

// whileStopped stops all threads of a process, calls look, and lets them go on. Threads that have not stopped after a
// part of the limit are left out. paused is the time from the first stop to the last.
func whileStopped(pid int, limit time.Duration, look func(started time.Time, threads []stopped) error) (paused time.Duration, err error) {
	onThread(func() { paused, err = stopAll(pid, limit, look) })
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
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, first) // the process waits for us; without rights nothing changes
		f()
	}()
	<-done
}

// stopAll does that on the calling thread.
func stopAll(pid int, limit time.Duration, look func(time.Time, []stopped) error) (paused time.Duration, err error) {
	t := &tracer{pid: pid, signals: make(map[int]int), seized: make(map[int]bool), asked: make(map[int]bool), ended: make(map[int]bool), asleep: make(map[int]bool)}
	defer func() { t.leave() }()
	if _, err := t.seize(); err != nil {
		return 0, err
	}
	started := time.Now()
	until := share(started, limit, stopPart)
	if until.IsZero() {
		until = started.Add(patience)
	}
	for more := true; more && (time.Now().Before(until) || len(t.asked) == 0); { // a thread that was not stopped yet may have made another
		t.interrupt(until)
		if more, err = t.seize(); err != nil {
			return 0, err
		}
	}
	threads := t.threads(until)
	if len(t.signals) == 0 && len(threads) == 0 {
		return 0, fmt.Errorf("no thread stopped within %v; allow more with --max-pause", time.Since(started).Round(time.Millisecond))
	}
	err = look(started, threads)
	t.leave()
	return time.Since(started), err
}

// threads are those that stopped, and those that did not.
func (t *tracer) threads(until time.Time) []stopped {
	threads := make([]stopped, 0, len(t.tids))
	for i, tid := range t.tids {
		th := stopped{id: tid}
		if _, stands := t.signals[tid]; stands {
			var err error
			if th.registers, err = readRegisters(tid); err != nil {
				continue // it was killed meanwhile
			}
		} else if !t.ended[tid] {
			th.late = &LateThread{ID: uint64(tid), Sleep: t.asleep[tid]}
			if th.late.Sleep && (i < fewThreads || time.Now().Before(until)) {
				th.registers = asleep(t.pid, tid)
			}
		}
		if !t.ended[tid] {
			threads = append(threads, th)
		}
	}
	return threads
}

// asleep are the registers of a thread that was told to stop and sleeps in the kernel: the kernel knows where it left its own code, and
// stops it before it goes on there. They are empty where it does not say so, and for a thread that waits for a child: with
// vfork(2) that runs on the same stack.
func asleep(pid, tid int) (out unwind.Registers) {
	call, sp, pc, ok := procfs.Left(pid, tid)
	arch, err := unwind.ParseArch(runtime.GOARCH)
	if ok && err == nil && !slices.Contains(makesProcess, call) {
		out.Set(arch.SP(), sp)
		out.Set(arch.PC(), pc)
	}
	return out
}

// tracer has seized threads.
type tracer struct {
	pid     int
	tids    []int
	seized  map[int]bool
	asked   map[int]bool // those told to stop
	ended   map[int]bool
	asleep  map[int]bool // those in a sleep that is not interrupted
	signals map[int]int  // of those that stand still: what to deliver when they go on
}

// seize attaches to every thread that it is not attached to, and stops none.
// more says that there were any.
func (t *tracer) seize() (more bool, err error) {
	tids, err := tasks(t.pid)
	if err != nil {
		return more, t.refused(err)
	}
	for _, tid := range tids {
		if t.seized[tid] {
			continue
		}
		attached, err := t.attach(tid)
		if err != nil {
			return more, err
		}
		t.seized[tid] = true // one that has ended is not asked again
		if attached {
			more = true
			t.tids = append(t.tids, tid)
		}
	}
	if len(t.tids) == 0 {
		return more, fmt.Errorf("it has ended")
	}
	return more, nil
}

// tries is how often a thread is asked for that the kernel refuses without a reason: it may just end.
const tries = 5

// attach attaches to a thread. The kernel refuses one that ends in the same way as one that must not be traced.
func (t *tracer) attach(tid int) (attached bool, err error) {
	for try := 0; ; try++ {
		_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(tid), 0, 0, 0, 0)
		if errno == 0 {
			return true, nil
		}
		state := procfs.State(t.pid, tid)
		if errno == unix.ESRCH || state == 0 || state == 'Z' || state == 'X' {
			return false, nil
		}
		if try == tries || procfs.Tracer(t.pid, tid) != 0 {
			return false, t.refused(errno)
		}
		time.Sleep(nap)
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
	if _, readErr := procfs.ReadStatus(t.pid); errors.Is(readErr, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("it has ended")
	}
	for _, tid := range append([]int{t.pid}, t.tids...) {
		if by := procfs.Tracer(t.pid, tid); by != 0 && !ours(by) {
			return fmt.Errorf("process %d is debugging it already; end that debugger first", by)
		}
	}
	return fmt.Errorf("it cannot be traced: %w", err)
}

// ours says whether a thread is of this process.
func ours(tid int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", tid))
	return err == nil
}

// interrupt stops the seized threads that it has not told to stop before, and waits for them: not for those in a sleep
// that the kernel does not interrupt, twice in a row.
func (t *tracer) interrupt(until time.Time) {
	waiting := make(map[int]bool, len(t.tids))
	for i, tid := range t.tids {
		if i >= fewThreads && i%fewThreads == 0 && time.Now().After(until) {
			break
		}
		if !t.asked[tid] && unix.PtraceInterrupt(tid) == nil {
			waiting[tid] = true
		}
		t.asked[tid] = true
	}
	slept := make(map[int]bool)
	pause := firstLook
	next := time.Now().Add(pause)
	for len(waiting) > 0 && time.Now().Before(until) {
		progress := false
		for tid := range waiting {
			if t.reported(tid) {
				progress = true
				delete(waiting, tid)
			}
		}
		if progress {
			continue
		}
		if time.Now().After(next) {
			for tid := range waiting {
				switch sleeps := procfs.State(t.pid, tid) == 'D'; {
				case sleeps && slept[tid]:
					t.asleep[tid] = true
					delete(waiting, tid)
				default:
					slept[tid] = sleeps
				}
			}
			pause *= 2
			next = time.Now().Add(pause)
		}
		time.Sleep(nap)
	}
}

// reported takes the report that a thread has stopped or ended, if it is there.
func (t *tracer) reported(tid int) bool {
	var status unix.WaitStatus
	got, err := unix.Wait4(tid, &status, unix.WALL|unix.WNOHANG, nil)
	if err == nil && got == 0 {
		return false
	}
	if err == nil && status.Stopped() {
		t.signals[tid] = deliver(status)
	} else {
		t.ended[tid] = true
	}
	return true
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
