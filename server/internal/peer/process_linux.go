package peer

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Traces says whether the process at the other end of a connection is the one
// that traces a process here. It is false for a debugger on another machine,
// whatever the addresses say: there, or in a forwarded port, another process has
// the end that is here.
func Traces(conn net.Conn, pid int) bool {
	tracer, ok := status(pid, "TracerPid") // of the thread that does
	if !ok || tracer == 0 {
		return false
	}
	switch c := conn.(type) {
	case *net.UnixConn:
		cred, err := credentials(c)
		return err == nil && sameProcess(int(cred.Pid), tracer)
	case *net.TCPConn:
		e, err := other(c)
		return err == nil && e.inode != "0" && holds(tracer, "socket:["+e.inode+"]")
	}
	return false
}

// holds says whether a process has something open, by the name that the kernel
// gives it.
func holds(pid int, name string) bool {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if link, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && link == name {
			return true
		}
	}
	return false
}

// sameProcess says whether two IDs are of threads of one process.
func sameProcess(a, b int) bool {
	pa, ok := status(a, "Tgid")
	pb, ok2 := status(b, "Tgid")
	return ok && ok2 && pa == pb
}

// status reads a number out of /proc/PID/status.
func status(pid int, field string) (int, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && key == field {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			return n, err == nil
		}
	}
	return 0, false
}
