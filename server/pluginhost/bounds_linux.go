package pluginhost

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxFile is how long a file may be that a third party's plugin writes, in bytes.
const maxFile = 256 << 20

// limit bounds what a third party's process may allocate (setrlimit(2), RLIMIT_DATA), in bytes, and the files that it writes; 0: no
// bounds. Its children inherit them.
func limit(pid int, memory uint64) error {
	if memory == 0 {
		return nil
	}
	if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: maxFile, Max: maxFile}, nil); err != nil {
		return err
	}
	return unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: memory, Max: memory}, nil)
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
