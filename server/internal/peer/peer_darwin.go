package peer

import (
	"net"

	"golang.org/x/sys/unix"
)

// Unix returns the user at the other end of a unix socket. Not tried on a Mac.
func Unix(c *net.UnixConn) (uid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Xucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	}); err != nil {
		return 0, err
	}
	if credErr != nil {
		return 0, credErr
	}
	return int(cred.Uid), nil
}

// TCP does not know: this system has no table of connections with their
// users, and Delve does not check either.
func TCP(*net.TCPConn) (uid int, known bool, err error) { return 0, false, nil }

// Traces says whether the process at the other end of a connection traces
// another. This system does not tell.
func Traces(net.Conn, int) bool { return false }
