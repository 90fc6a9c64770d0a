package lifeline

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/clewdbg/clew/server/internal/procfs"
)

// launch is a program that the debugger was about to start when we last heard
// of it. The process may be there without us knowing its ID: between its start
// and the debugger's word of it lies the reading of its debug information.
type launch struct {
	host    int // the debugger
	session string
	path    string
}

func parseLaunch(line string) *launch {
	l := new(launch)
	if _, err := fmt.Sscanf(line, wordLaunch+" %d %s %q", &l.host, &l.session, &l.path); err != nil || l.host <= 1 {
		return nil
	}
	return l
}

// kill waits for the debugger's end and kills the process that it had started.
func (l *launch) kill() {
	// All children of a dead process get their new parent in one moment, we too.
	for end := time.Now().Add(patience); os.Getppid() == l.host; time.Sleep(interval) {
		if time.Now().After(end) {
			return
		}
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && l.started(pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// started says that the debugger had started the process to debug it. Nothing
// proves that once the debugger is dead, so a good deal has to agree: the process
// is the program (or still the fork of clew that becomes it), it lost its parent
// as we did, it is of the debugger's session, and it is younger than we are.
//
// Example of a process that it must not kill: the same program, left running in the
// background of that session by a shell that has ended. It is older.
func (l *launch) started(pid int) bool {
	self := os.Getpid()
	if pid == self || statField(pid, statParent) != strconv.Itoa(os.Getppid()) || statField(pid, statSession) != l.session {
		return false
	}
	born, err := strconv.ParseUint(startTime(pid), 10, 64)
	ours, err2 := strconv.ParseUint(startTime(self), 10, 64)
	if err != nil || err2 != nil || born < ours {
		return false
	}
	exe := procfs.Path(pid, "exe")
	return sameFile(exe, l.path) || sameFile(exe, procfs.Path(self, "exe")) && !isPlugin(pid)
}

// isPlugin: a plugin is clew as well, and ends by its own life-line. A fork that
// is not yet the program has the debugger's own arguments.
func isPlugin(pid int) bool {
	line, err := os.ReadFile(procfs.Path(pid, "cmdline"))
	_, arguments, _ := strings.Cut(string(line), "\x00")
	return err != nil || strings.HasPrefix(arguments, "plugin\x00")
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}
