package pluginhost

import (
	"bytes"
	"errors"
	"os"
	"strconv"
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

// strayTries is how often strays are looked for: they may start others meanwhile.
const strayTries = 3

// endStrays kills processes that have left a plugin's group. They are found by a variable of their environment, which
// no other plugin's process has; one that has cleared that is not found.
func endStrays(variable string) {
	for range strayTries {
		if killStrays([]byte("\x00"+variable+"\x00")) == 0 {
			return
		}
	}
}

func killStrays(variable []byte) (killed int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return 0
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what can be read
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		process, err := unix.PidfdOpen(pid, 0) // first: the ID may become another's
		if err != nil {
			continue
		}
		environ, err := os.ReadFile("/proc/" + name + "/environ")
		if err == nil && bytes.Contains(append([]byte{0}, environ...), variable) && unix.PidfdSendSignal(process, unix.SIGKILL, nil, 0) == nil {
			killed++
		}
		_ = unix.Close(process)
	}
	return killed
}
