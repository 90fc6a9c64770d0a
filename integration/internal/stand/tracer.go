//go:build linux && (amd64 || arm64)

package stand

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	optionTraceClone = 0x8      // PTRACE_O_TRACECLONE
	optionExitKill   = 0x100000 // PTRACE_O_EXITKILL
	waitAll          = 0x40000000
)

// tracer traces one program, from one thread.
type tracer struct {
	pid      int
	threads  map[int]bool // running; false: stopped
	deadline time.Time

	at int    // the thread that reached the place
	pc uint64 // where it stands
}

// bring lets the program run to its place.
func (t *tracer) bring(c Config) error {
	if err := t.expectStop(t.pid, syscall.SIGTRAP); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	if err := syscall.PtraceSetOptions(t.pid, optionTraceClone|optionExitKill); err != nil {
		return fmt.Errorf("options: %w", err)
	}
	if err := t.resume(t.pid, 0); err != nil {
		return err
	}
	if c.Place.Name == "" {
		return t.untilTrap(0)
	}
	if err := t.untilTrap(0); err != nil {
		return fmt.Errorf("before it was ready: %w", err)
	}
	address, err := resolve(c)
	if err != nil {
		return err
	}
	if trapMoves == 0 { // the program stands at the instruction still
		if err := setProgramCounter(t.at, t.pc+uint64(len(breakpoint))); err != nil {
			return err
		}
	}
	if err := t.runTo(address, c.Place.Name); err != nil {
		return err
	}
	for range c.Place.Steps {
		if err := t.step(); err != nil {
			return fmt.Errorf("step from %#x: %w", t.pc, err)
		}
	}
	return nil
}

// runTo lets the program run until it is at the instruction at an address.
func (t *tracer) runTo(address uint64, name string) error {
	original := make([]byte, len(breakpoint))
	if _, err := syscall.PtracePeekText(t.at, uintptr(address), original); err != nil {
		return fmt.Errorf("read the code at %#x: %w", address, err)
	}
	if _, err := syscall.PtracePokeText(t.at, uintptr(address), breakpoint); err != nil {
		return fmt.Errorf("breakpoint at %#x: %w", address, err)
	}
	if err := t.resume(t.at, 0); err != nil {
		return err
	}
	if err := t.untilTrap(address); err != nil {
		return fmt.Errorf("before it reached %s at %#x: %w", name, address, err)
	}
	if _, err := syscall.PtracePokeText(t.at, uintptr(address), original); err != nil {
		return err
	}
	if err := setProgramCounter(t.at, address); err != nil {
		return err
	}
	t.pc = address
	return nil
}

// wait waits for one of the program's threads (or the one given) to stop.
func (t *tracer) wait(which int) (int, syscall.WaitStatus, error) {
	for {
		var status syscall.WaitStatus
		tid, err := syscall.Wait4(which, &status, waitAll|syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 0, 0, fmt.Errorf("wait: %w", err)
		case tid != 0:
			return tid, status, nil
		case time.Now().After(t.deadline):
			return 0, 0, fmt.Errorf("out of patience")
		default:
			time.Sleep(200 * time.Microsecond)
		}
	}
}

func (t *tracer) expectStop(tid int, signal syscall.Signal) error {
	_, status, err := t.wait(tid)
	if err == nil && (!status.Stopped() || status.StopSignal() != signal) {
		err = fmt.Errorf("wait status %#x, want stopped by %v", status, signal)
	}
	return err
}

func (t *tracer) resume(tid int, signal syscall.Signal) error {
	t.threads[tid] = true
	if err := syscall.PtraceCont(tid, int(signal)); err != nil && err != syscall.ESRCH { // killed meanwhile
		return fmt.Errorf("continue thread %d: %w", tid, err)
	}
	return nil
}

// untilTrap runs until a thread has executed the breakpoint instruction at the
// address, or, for 0, any of the program's own.
func (t *tracer) untilTrap(address uint64) error {
	for {
		tid, status, err := t.wait(-t.pid)
		if err != nil {
			return err
		}
		if !status.Stopped() {
			if tid == t.pid {
				return fmt.Errorf("it ended (wait status %#x)", status)
			}
			delete(t.threads, tid)
			continue
		}
		signal := status.StopSignal()
		switch {
		case signal == syscall.SIGSTOP:
			signal = 0 // a new thread begins like this
		case signal == syscall.SIGTRAP && status.TrapCause() > 0:
			t.born(tid)
			signal = 0
		case signal == syscall.SIGTRAP:
			hit, err := t.trapped(tid, address)
			if err != nil {
				return err
			}
			if hit {
				t.threads[tid] = false
				return nil
			}
		}
		if err := t.resume(tid, signal); err != nil {
			return err
		}
	}
}

// born takes note of the thread that this one has made: it is traced, and its
// first stop may be still to come.
func (t *tracer) born(parent int) {
	child, err := syscall.PtraceGetEventMsg(parent)
	if _, known := t.threads[int(child)]; err == nil && !known {
		t.threads[int(child)] = true
	}
}

// trapped says that a trap is the breakpoint instruction that is waited for.
func (t *tracer) trapped(tid int, address uint64) (bool, error) {
	pc, err := programCounter(tid)
	if err != nil {
		return false, fmt.Errorf("registers: %w", err)
	}
	at, code := pc-trapMoves, make([]byte, len(breakpoint))
	if _, err := syscall.PtracePeekText(tid, uintptr(at), code); err != nil || !isBreakpoint(code) {
		return false, nil
	}
	if address != 0 && at != address {
		return false, fmt.Errorf("breakpoint instruction at %#x", at)
	}
	t.at, t.pc = tid, pc
	return true, nil
}

// step goes on by one instruction. The runtime's signal to preempt a goroutine
// is dropped: its handler must not show.
func (t *tracer) step() error {
	for {
		if err := syscall.PtraceSingleStep(t.at); err != nil {
			return err
		}
		_, status, err := t.wait(t.at)
		if err != nil {
			return err
		}
		if status.Stopped() && status.StopSignal() == syscall.SIGURG {
			continue
		}
		if !status.Stopped() || status.StopSignal() != syscall.SIGTRAP {
			return fmt.Errorf("wait status %#x", status)
		}
		t.pc, err = programCounter(t.at)
		return err
	}
}

// leave stops every thread, and lets go of them so that they stay stopped.
func (t *tracer) leave() error {
	for tid, running := range t.threads {
		if running {
			if _, _, errno := syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(t.pid), uintptr(tid), uintptr(syscall.SIGSTOP)); errno != 0 {
				delete(t.threads, tid) // has ended
			}
		}
	}
	for t.anyRunning() {
		tid, status, err := t.wait(-t.pid)
		if err != nil {
			return err
		}
		switch {
		case !status.Stopped():
			delete(t.threads, tid)
		case status.StopSignal() == syscall.SIGSTOP:
			t.threads[tid] = false
		case status.StopSignal() == syscall.SIGTRAP && status.TrapCause() > 0:
			t.born(tid)
			err = t.resume(tid, 0) // its own stop is still to come
		default: // its stop is still to come
			err = t.resume(tid, status.StopSignal())
		}
		if err != nil {
			return err
		}
	}
	for tid := range t.threads {
		if _, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, syscall.PTRACE_DETACH, uintptr(tid), 0, uintptr(syscall.SIGSTOP), 0, 0); errno != 0 {
			return fmt.Errorf("detach from thread %d: %w", tid, errno)
		}
	}
	for tid := range t.threads {
		for state(t.pid, tid) != "T" {
			if time.Now().After(t.deadline) {
				return fmt.Errorf("thread %d does not stay stopped but is in state %s", tid, state(t.pid, tid))
			}
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}

func (t *tracer) anyRunning() bool {
	for _, running := range t.threads {
		if running {
			return true
		}
	}
	return false
}

// state is a thread's state as proc(5) has it.
func state(pid, tid int) string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(tid) + "/stat")
	if err != nil {
		return "?"
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	return fields[0]
}

// kill ends the program, and takes what its threads come to: its first thread
// is no one's to wait for before the traced ones are.
func (t *tracer) kill() {
	_ = syscall.Kill(t.pid, syscall.SIGKILL)
	for {
		var status syscall.WaitStatus
		tid, err := syscall.Wait4(-t.pid, &status, waitAll, nil)
		if err == syscall.EINTR || err == nil && (tid != t.pid || status.Stopped()) {
			continue
		}
		return
	}
}
