package executable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/clewdbg/clew/server/internal/procfs"
)

// cannotAttach says why a process cannot be attached to, and what to do about it.
func cannotAttach(pid int, why string) error {
	return fmt.Errorf("cannot attach to process %d: %s", pid, why)
}

// CheckAttachable finds out beforehand what Delve would fail with later, and
// less clearly.
func CheckAttachable(pid int) error {
	if pid <= 0 {
		return cannotAttach(pid, "not a process ID")
	}
	status, err := procfs.ReadStatus(pid)
	if errors.Is(err, os.ErrNotExist) {
		return cannotAttach(pid, "no such process; it may have exited; list processes with ps")
	}
	if err != nil {
		return nil // not our business to refuse: attaching says why
	}
	if tracer := status.Field("TracerPid"); tracer != "" && tracer != "0" {
		return cannotAttach(pid, "process "+tracer+" is debugging it already; end that debugger first")
	}
	if !hasGo(pid) {
		if packedByUPX(procfs.Path(pid, "exe")) {
			return cannotAttach(pid, "it is packed by UPX, which leaves no table of functions in its file; unpack it with upx -d and start it again")
		}
		return cannotAttach(pid, errNotGo.Error())
	}
	if state := status.Field("State"); strings.HasPrefix(state, "Z") {
		return cannotAttach(pid, "it has exited (zombie)")
	}
	return nil
}

// ExplainAttach explains a refused attach.
func ExplainAttach(pid int, err error) error {
	info, statErr := os.Stat(procfs.Path(pid, ""))
	var owner *syscall.Stat_t
	if statErr == nil {
		owner, _ = info.Sys().(*syscall.Stat_t)
	}
	switch scope := yamaScope(); {
	case os.Getuid() == 0 && errors.Is(err, fs.ErrPermission):
		return cannotAttach(pid, "root lacks the capability SYS_PTRACE here, or the process is outside of this user namespace; in a container: docker run --cap-add SYS_PTRACE")
	case os.Getuid() == 0:
	case owner != nil && int(owner.Uid) != os.Getuid():
		return cannotAttach(pid, fmt.Sprintf("it belongs to another user (uid %d); run clew as that user or as root", owner.Uid))
	case scope > 0:
		return cannotAttach(pid, fmt.Sprintf("the kernel refuses it (Yama, kernel.yama.ptrace_scope = %d); "+
			"launch the program with clew, or let root run: sysctl kernel.yama.ptrace_scope=0", scope))
	case errors.Is(err, fs.ErrPermission):
		return cannotAttach(pid, "not permitted, though the process is yours: it runs with other rights (setuid, capabilities), "+
			"or has forbidden it (prctl PR_SET_DUMPABLE); run clew as root")
	}
	return fmt.Errorf("cannot attach to process %d: %w", pid, err)
}

// yamaScope is the kernel's restriction of ptrace, 0 for none.
func yamaScope() int {
	text, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope") // not there: none
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n
}
