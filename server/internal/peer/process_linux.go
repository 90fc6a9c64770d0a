package peer

import (
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/clewdbg/clew/server/internal/procfs"
)

// Traces says whether the process at the other end of a connection is the one
// that traces a process here. It is false for a debugger on another machine,
// whatever the addresses say: there, or in a forwarded port, another process has
// the end that is here.
func Traces(conn net.Conn, pid int) bool {
	status, _ := procfs.ReadStatus(pid)
	tracer := status.Number("TracerPid") // the thread that traces
	if tracer == 0 {
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

// holds says whether a process has something open, by its name in the kernel.
func holds(pid int, name string) bool {
	dir := procfs.Path(pid, "fd")
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		link, err := os.Readlink(filepath.Join(dir, e.Name()))
		return err == nil && link == name
	})
}

// sameProcess says whether two IDs are of threads of one process.
func sameProcess(a, b int) bool {
	one, err := procfs.ReadStatus(a)
	other, err2 := procfs.ReadStatus(b)
	return err == nil && err2 == nil && one.Field("Tgid") == other.Field("Tgid")
}
