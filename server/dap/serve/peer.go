package serve

import (
	"fmt"
	"net"
	"os"

	"github.com/clewdbg/clew/server/internal/peer"
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

// Unwrap returns the cause.
func (e *PeerError) Unwrap() error { return e.Err }

const sameUserOnly = "connections are only accepted from the same UNIX user for security reasons; see --only-same-user"

// checkPeer refuses a connection from another user where its user can be known:
// on loopback and on unix sockets. A server that listens on another address
// takes every client, as Delve's does, which warns of it.
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
		uid, err = peer.Unix(c)
		return uid, true, err
	case *net.TCPConn:
		if l, ok := listener.(*net.TCPAddr); !ok || !l.IP.IsLoopback() {
			return 0, false, nil
		}
		return peer.TCP(c)
	}
	return 0, false, nil
}
