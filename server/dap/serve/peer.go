package serve

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// PeerError says that a client may not connect.
type PeerError struct {
	Addr net.Addr
	Why  string
	Err  error
}

// Error says who, and why not.
func (e *PeerError) Error() string {
	s := fmt.Sprintf("closing connection from %v: %s", e.Addr, e.Why)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the cause.
func (e *PeerError) Unwrap() error { return e.Err }

const sameUserOnly = "connections are only accepted from the same UNIX user for security reasons; see --only-same-user"

// checkPeer refuses a connection from another user where its user can be known:
// on loopback and on unix sockets. A server that listens on another address
// takes anybody, as Delve's does, which warns of it.
func checkPeer(listener net.Addr, conn net.Conn) error {
	uid, known, err := peerUser(listener, conn)
	switch {
	case err != nil:
		return &PeerError{conn.RemoteAddr(), "its user cannot be found out", err}
	case known && uid != os.Getuid():
		return &PeerError{conn.RemoteAddr(), fmt.Sprintf("it is of user %d: %s", uid, sameUserOnly), nil}
	}
	return nil
}

func peerUser(listener net.Addr, conn net.Conn) (uid int, known bool, err error) {
	switch c := conn.(type) {
	case *net.UnixConn:
		uid, err = unixPeer(c)
		return uid, true, err
	case *net.TCPConn:
		if l, ok := listener.(*net.TCPAddr); !ok || !l.IP.IsLoopback() {
			return 0, false, nil
		}
		uid, err = tcpPeer(c)
		return uid, true, err
	}
	return 0, false, nil
}

// unixPeer asks the kernel who is at the other end of a unix socket.
func unixPeer(c *net.UnixConn) (uid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return 0, err
	}
	if credErr != nil {
		return 0, credErr
	}
	return int(cred.Uid), nil
}

var errNoConnection = errors.New("the connection is not in the kernel's table")

// tcpPeer looks the client's end of a loopback connection up in the kernel's
// tables (proc_pid_net(5)). A connection between IPv4 addresses may be in the
// table of IPv6, by mapped addresses.
func tcpPeer(c *net.TCPConn) (uid int, err error) {
	local, ok := c.LocalAddr().(*net.TCPAddr)
	remote, ok2 := c.RemoteAddr().(*net.TCPAddr)
	if !ok || !ok2 {
		return 0, errNoConnection
	}
	for _, table := range []struct {
		path string
		size int
	}{{"/proc/self/net/tcp", net.IPv4len}, {"/proc/self/net/tcp6", net.IPv6len}} {
		from, ok := tableAddr(remote, table.size)
		to, ok2 := tableAddr(local, table.size)
		if !ok || !ok2 {
			continue
		}
		text, readErr := os.ReadFile(table.path)
		if readErr != nil {
			err = readErr
			continue
		}
		// From the client's end, which is the one with its user.
		if uid, ok := findOwner(text, from, to); ok {
			return uid, nil
		}
	}
	if err == nil {
		err = errNoConnection
	}
	return 0, err
}

// tableAddr writes an address as the kernel's tables do: each 32 bits of it as a
// number of the machine, which is little-endian, and the port.
func tableAddr(a *net.TCPAddr, size int) (string, bool) {
	ip := a.IP.To4()
	if size == net.IPv6len {
		ip = a.IP.To16()
	}
	if len(ip) != size {
		return "", false
	}
	ip = slices.Clone(ip)
	for word := ip; len(word) > 0; word = word[4:] {
		slices.Reverse(word[:4])
	}
	return fmt.Sprintf("%s:%04X", strings.ToUpper(hex.EncodeToString(ip)), a.Port), true
}

// Columns of the tables.
const (
	columnLocal  = 1
	columnRemote = 2
	columnUser   = 7
)

func findOwner(table []byte, local, remote string) (uid int, ok bool) {
	for line := range bytes.Lines(table) {
		f := strings.Fields(string(line))
		if len(f) <= columnUser || f[columnLocal] != local || f[columnRemote] != remote {
			continue
		}
		uid, err := strconv.Atoi(f[columnUser])
		return uid, err == nil
	}
	return 0, false
}
