package pluginhost

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// limitMemory bounds what a process may allocate (setrlimit(2), RLIMIT_DATA), in bytes; 0: no bound. Its
// children inherit that.
func limitMemory(pid int, most uint64) error {
	if most == 0 {
		return nil
	}
	return unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: most, Max: most}, nil)
}

// endGroup waits for the end of a process that leads a group, and kills what is left of the group. The
// process is not reaped before: until then its ID can be no other's.
func endGroup(pid int) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err == nil {
			_ = syscall.Kill(-pid, syscall.SIGKILL) // as a rule there is no other process
		}
		return // without a kill where Delve, which waits for any child, has reaped it
	}
}
