package peer

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

// Unix returns the user at the other end of a unix socket: of who listens, the user
// that did so.
func Unix(c *net.UnixConn) (uid int, err error) {
	cred, err := credentials(c)
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}

func credentials(c *net.UnixConn) (*unix.Ucred, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return nil, err
	}
	return cred, credErr
}

var errNoConnection = errors.New("the connection is not in the kernel's table")

// TCP returns the user at the other end of a loopback connection. known is false
// where the system does not tell.
func TCP(c *net.TCPConn) (uid int, known bool, err error) {
	e, err := other(c)
	return e.uid, true, err
}

// entry is one end of a connection in the kernel's tables.
type entry struct {
	uid   int
	inode string
}

// other finds the other end of a connection on this machine: the kernel is asked, and where it does not tell, its tables are
// read.
func other(c *net.TCPConn) (e entry, err error) {
	local, ok := c.LocalAddr().(*net.TCPAddr)
	remote, ok2 := c.RemoteAddr().(*net.TCPAddr)
	if !ok || !ok2 {
		return e, errNoConnection
	}
	e, err = ask(unmapped(remote), unmapped(local))
	switch {
	case err == nil:
		return e, nil
	case errors.Is(err, unix.ENOENT) && isOver(c):
		return entry{}, errNoConnection
	}
	return lookUp(local, remote)
}

// lookUp looks the other end up in the kernel's tables (proc_pid_net(5)). A connection between
// IPv4 addresses may be in the table of IPv6, by mapped addresses.
func lookUp(local, remote *net.TCPAddr) (e entry, err error) {
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
		if e, ok := find(text, from, to); ok {
			return e, nil
		}
	}
	if err == nil {
		err = errNoConnection
	}
	return e, err
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
	columnInode  = 9
)

func find(table []byte, local, remote string) (e entry, ok bool) {
	pair := []byte(" " + local + " " + remote + " ") // the columns are one space apart; most lines are of other connections
	for line := range bytes.Lines(table) {
		if !bytes.Contains(line, pair) {
			continue
		}
		f := strings.Fields(string(line))
		if len(f) <= columnInode || f[columnLocal] != local || f[columnRemote] != remote {
			continue
		}
		uid, err := strconv.Atoi(f[columnUser])
		return entry{uid, f[columnInode]}, err == nil
	}
	return e, false
}
