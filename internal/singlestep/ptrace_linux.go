//go:build linux && (amd64 || arm64)

package singlestep

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
)

// Process is a process under ptrace.
type Process struct {
	PID     int
	cmd     *exec.Cmd
	mem     *os.File
	deliver int // the signal that comes next
}

// Start starts a program, which stands before its first instruction (the
// loader's, where it has one), and locks the test to its thread, which is the
// tracer. The program ends with the test.
func Start(t testing.TB, exe string, args ...string) *Process {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	cmd := exec.Command(exe, args...)
	cmd.Env = []string{"PATH=/bin"}
	p, err := Trace(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// Trace starts a program under the calling thread, which only may use it. Of its threads
// the first alone is traced: the others run.
func Trace(cmd *exec.Cmd) (*Process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Process{PID: cmd.Process.Pid, cmd: cmd}
	var ws syscall.WaitStatus
	_, err := syscall.Wait4(p.PID, &ws, 0, nil)
	if err == nil {
		p.mem, err = os.OpenFile(fmt.Sprintf("/proc/%d/mem", p.PID), os.O_RDWR, 0)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close kills the program, unless it has ended.
func (p *Process) Close() {
	_ = p.cmd.Process.Kill() // it has ended, but for a failure
	_ = p.cmd.Wait()
	_ = p.mem.Close()
}

// Step implements [Program].
func (p *Process) Step() (Result, error) { return p.resume(syscall.PTRACE_SINGLESTEP) }

func (p *Process) resume(how uintptr) (Result, error) {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, how, uintptr(p.PID), 0, uintptr(p.deliver), 0, 0)
	if errno != 0 {
		return Result{}, errno
	}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(p.PID, &ws, 0, nil); err != nil {
		return Result{}, err
	}
	p.deliver = 0
	switch {
	case ws.Exited():
		return Result{Ended: true, Status: ws.ExitStatus()}, nil
	case !ws.Stopped():
		return Result{}, errors.New("the program was killed")
	case ws.StopSignal() != syscall.SIGTRAP:
		p.deliver = int(ws.StopSignal())
	}
	return Result{Signal: p.deliver != 0}, nil
}

// Read implements [Program].
func (p *Process) Read(addr uint64, b []byte) int {
	n, _ := p.mem.ReadAt(b, int64(addr)) // n tells how much could be read
	return n
}

// RunTo implements [Program].
func (p *Process) RunTo(addr uint64) error {
	saved := make([]byte, len(breakpoint))
	if p.Read(addr, saved) != len(saved) {
		return fmt.Errorf("no code at %#x", addr)
	}
	if _, err := p.mem.WriteAt(breakpoint, int64(addr)); err != nil {
		return err
	}
	result := Result{Signal: true}
	for err := error(nil); result.Signal; {
		if result, err = p.resume(syscall.PTRACE_CONT); err != nil {
			return err
		}
	}
	if result.Ended {
		return fmt.Errorf("the program did not come to %#x: %+v", addr, result)
	}
	if _, err := p.mem.WriteAt(saved, int64(addr)); err != nil {
		return err
	}
	return p.standAt(addr)
}
