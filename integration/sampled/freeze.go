//go:build linux && (amd64 || arm64)

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

const (
	ptraceSeize     = 0x4206
	ptraceInterrupt = 0x4207
	waitAll         = 0x40000000 // __WALL
)

// freeze stops the program's other threads. On an emulated machine an instruction takes so
// long that Go's runtime would have the goroutine wait after every hundred.
func (p *process) freeze() error {
	tasks, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(p.step.PID), "task"))
	if err != nil {
		return err
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil || tid == p.step.PID {
			continue
		}
		for _, request := range []uintptr{ptraceSeize, ptraceInterrupt} {
			if _, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, request, uintptr(tid), 0, 0, 0, 0); errno != 0 {
				return fmt.Errorf("stop thread %d: %w", tid, errno)
			}
		}
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(tid, &status, waitAll, nil); err != nil {
			return fmt.Errorf("wait for thread %d: %w", tid, err)
		}
		p.frozen = append(p.frozen, tid)
	}
	return nil
}

// thaw lets them go: the program is to end.
func (p *process) thaw() {
	for _, tid := range p.frozen {
		_ = syscall.PtraceDetach(tid) // it may have ended
	}
}
