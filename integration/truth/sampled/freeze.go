//go:build linux && (amd64 || arm64)

package sampled

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

// frozen are threads that stand still.
type frozen []int

// freeze stops all threads of a program but its first. On an emulated machine an instruction takes so
// long that Go's runtime would have the goroutine wait after every hundred.
func freeze(pid int) (f frozen, err error) {
	tasks, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "task"))
	if err != nil {
		return nil, err
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil || tid == pid {
			continue
		}
		for _, request := range []uintptr{ptraceSeize, ptraceInterrupt} {
			if _, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, request, uintptr(tid), 0, 0, 0, 0); errno != 0 {
				return f, fmt.Errorf("stop thread %d: %w", tid, errno)
			}
		}
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(tid, &status, waitAll, nil); err != nil {
			return f, fmt.Errorf("wait for thread %d: %w", tid, err)
		}
		f = append(f, tid)
	}
	return f, nil
}

// thaw lets them go: the program is to end.
func (f frozen) thaw() {
	for _, tid := range f {
		_ = syscall.PtraceDetach(tid) // it may have ended
	}
}
