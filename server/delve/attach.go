package delve

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// AttachError says that a process could not be attached to, why, and what to
// do about it.
type AttachError struct {
	Pid  int
	Why  string
	Help string
	Err  error
}

// Error is one line: what, why, what to do.
func (e *AttachError) Error() string {
	s := fmt.Sprintf("cannot attach to process %d: %s", e.Pid, e.Why)
	if e.Help != "" {
		s += "; " + e.Help
	}
	return s
}

// Unwrap returns the cause.
func (e *AttachError) Unwrap() error { return e.Err }

// checkAttachable finds out beforehand what Delve would fail with later, and
// less clearly.
func checkAttachable(pid int) error {
	if pid <= 0 {
		return &AttachError{Pid: pid, Why: "not a process ID"}
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if errors.Is(err, os.ErrNotExist) {
		return &AttachError{Pid: pid, Why: "no such process", Help: "it may have exited; list processes with ps", Err: err}
	}
	if err != nil {
		return nil // not our business to refuse: attaching says why
	}
	if tracer := statusField(status, "TracerPid"); tracer != "" && tracer != "0" {
		return &AttachError{Pid: pid, Why: "process " + tracer + " is debugging it already", Help: "end that debugger first"}
	}
	if !hasGo(pid) {
		return &AttachError{Pid: pid, Why: errNotGo.Error(), Err: errNotGo}
	}
	if err := checkLoaded(pid, nil); err != nil {
		return &AttachError{Pid: pid, Why: err.Error(), Err: err}
	}
	if state := statusField(status, "State"); strings.HasPrefix(state, "Z") {
		return &AttachError{Pid: pid, Why: "it has exited (zombie)"}
	}
	return nil
}

func statusField(status []byte, name string) string {
	for line := range bytes.Lines(status) {
		if key, value, ok := strings.Cut(string(line), ":"); ok && key == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// attachError explains a refused attach.
func attachError(pid int, err error) error {
	switch uid, ok := ownerOf(pid); {
	case ok && uid != os.Getuid() && os.Getuid() != 0:
		return &AttachError{Pid: pid, Why: fmt.Sprintf("it belongs to another user (uid %d)", uid), Help: "run clew as that user or as root", Err: err}
	case yamaScope() > 0 && os.Getuid() != 0:
		return &AttachError{Pid: pid, Err: err,
			Why:  fmt.Sprintf("the kernel refuses it (Yama, kernel.yama.ptrace_scope = %d)", yamaScope()),
			Help: "launch the program with clew, or let root run: sysctl kernel.yama.ptrace_scope=0"}
	}
	return &AttachError{Pid: pid, Why: err.Error(), Err: err}
}

func ownerOf(pid int) (uid int, ok bool) {
	fi, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	if err != nil {
		return 0, false
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}

// yamaScope is the kernel's restriction of ptrace, 0 for none.
func yamaScope() int {
	b, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return n
}
