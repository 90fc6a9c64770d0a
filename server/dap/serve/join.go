package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/clewdbg/clew/server/dap"
	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/delvelog"
)

// A client of Delve's JSON-RPC joins the session of an editor. The server tells it by its first byte, and
// hands its connection to the session's process, through a socket on which that process says when
// it has a program.

// Joiner serves the clients that join a session.
type Joiner interface {
	// Share has the editor's proxy share its session.
	Share(*dap.Options)
	// Serve serves a client until it is gone.
	Serve(net.Conn)
	// Ended is closed when a client has ended the session.
	Ended() <-chan struct{}
	// End halts the program, and tells every client that the session ends.
	End()
	// Close releases what was opened for clients.
	Close()
}

// join has clients join a session. It is called before the editor's proxy is made.
func (s *Session) join(joiner Joiner, from *net.UnixConn, opts *dap.Options) {
	s.joiner = joiner
	joiner.Share(opts)
	share := opts.Share
	opts.Share = func(session *delve.Session, settings debuggee.Settings) debuggee.Local {
		defer func() { _, _ = from.Write([]byte{0}) }() // a server that is gone sends no clients
		return share(session, settings)
	}
	go func() {
		for {
			conn, err := receive(from)
			if err != nil {
				if !errors.Is(err, io.EOF) {
					delvelog.DAPError("clients that join: %v", err)
				}
				return
			}
			go joiner.Serve(conn)
		}
	}()
}

// ended is closed when a client that has joined has ended the session; nil where none can.
func (s *Session) ended() <-chan struct{} {
	if s.joiner == nil {
		return nil
	}
	return s.joiner.Ended()
}

// receive takes the next connection from the server's process.
func receive(from *net.UnixConn) (net.Conn, error) {
	var text [1]byte
	rights := make([]byte, syscall.CmsgSpace(4)) // one file descriptor
	_, n, _, _, err := from.ReadMsgUnix(text[:], rights)
	if err != nil {
		return nil, err
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:n])
	if err != nil {
		return nil, err
	}
	if len(messages) == 0 {
		return nil, io.EOF
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, fmt.Errorf("the connection that was handed over: %w", err)
	}
	if len(fds) == 0 {
		return nil, errors.New("a message from the server brought no connection")
	}
	return Inherited(fds[0])
}

// hand hands a connection to a session's process.
func hand(to *net.UnixConn, conn *os.File) error {
	_, _, err := to.WriteMsgUnix([]byte{0}, syscall.UnixRights(int(conn.Fd())), nil)
	return err
}

// joinPair returns the two ends of the socket through which clients come.
func joinPair() (ours *net.UnixConn, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("a socket to a session's process: %w", err)
	}
	theirs = os.NewFile(uintptr(fds[1]), "join")
	if ours, err = InheritedJoins(fds[0]); err != nil {
		_ = theirs.Close()
	}
	return ours, theirs, err
}

// InheritedJoins returns the socket from which a session's process takes the clients that join.
func InheritedJoins(fd int) (*net.UnixConn, error) {
	conn, err := Inherited(fd)
	if err != nil {
		return nil, err
	}
	joins, ok := conn.(*net.UnixConn)
	if !ok {
		_ = conn.Close()
		return nil, fmt.Errorf("file descriptor %d is no unix socket", fd)
	}
	return joins, nil
}

// firstByte waits for the first byte that a client sends, and leaves it to whoever serves the client.
func firstByte(conn net.Conn) (byte, error) {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return 0, nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var b [1]byte
	var n int
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		n, _, failed = syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK)
		return !errors.Is(failed, syscall.EAGAIN) && !errors.Is(failed, syscall.EINTR)
	})
	if err = errors.Join(err, failed); err == nil && n == 0 {
		err = io.EOF
	}
	return b[0], err
}

// noProgram is what a client is told that finds no session to join.
const noProgram = "no editor debugs a program here yet: start it there, and connect again"

// refuse answers every request of a client of JSON-RPC by an error.
func refuse(conn net.Conn) {
	requests, answers := json.NewDecoder(io.LimitReader(conn, maxRefused)), json.NewEncoder(conn)
	for {
		var request struct {
			ID json.RawMessage `json:"id"`
		}
		if requests.Decode(&request) != nil {
			return
		}
		if answers.Encode(map[string]any{"id": request.ID, "result": nil, "error": noProgram}) != nil {
			return
		}
	}
}

// maxRefused bounds what is read of such a client.
const maxRefused = 1 << 20
