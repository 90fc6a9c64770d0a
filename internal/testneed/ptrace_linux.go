package testneed

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
)

// tryPtrace starts a child that asks to be traced and stops at its first
// instruction. Where that is allowed, so is attaching to a child.
func tryPtrace() error {
	runtime.LockOSThread() // the tracer is a thread, not a process
	defer runtime.UnlockOSThread()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "-test.run=^$")
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("may not trace a process: %w%s", err, yama())
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed is what we want
	}()
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, 0, nil); err != nil {
		return fmt.Errorf("waiting for a traced process: %w", err)
	}
	if !status.Stopped() {
		return fmt.Errorf("a traced process did not stop (wait status %#x)%s", status, yama())
	}
	return nil
}

// yama names the setting that most often stands in the way.
func yama() string {
	scope, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (/proc/sys/kernel/yama/ptrace_scope is %s)", strings.TrimSpace(string(scope)))
}
