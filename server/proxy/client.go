package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/clewdbg/clew/server/dap"
	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/remote"
	"github.com/clewdbg/clew/server/stop"
)

// opening is a client's connection whose protocol is read from its first byte.
type opening struct {
	net.Conn
	r *bufio.Reader
}

// Read reads from the first byte on.
func (o *opening) Read(p []byte) (int, error) { return o.r.Read(p) }

// CloseWrite says that nothing more will be written.
func (o *opening) CloseWrite() error { return closeWrite(o.Conn) }

// client serves one client. It connects to the server only once the client's protocol
// is known, because the server may take one connection only.
func (s *server) client(ctx context.Context, conn net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &opening{conn, bufio.NewReader(conn)}
	first, err := firstByte(c.r)
	if err != nil {
		return
	}
	switch first {
	case 'C': // of Content-Length, as Delve tells it
		s.serveDAP(ctx, c)
	case '{':
		s.serveRPC(ctx, c)
	default:
		s.Warn("%v: neither JSON-RPC nor the Debug Adapter Protocol (it begins with %q)", conn.RemoteAddr(), first)
	}
}

// firstByte returns the first byte that is not JSON's white space, and leaves it
// unread.
func firstByte(r *bufio.Reader) (byte, error) {
	for {
		b, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		if b != ' ' && b != '\t' && b != '\r' && b != '\n' {
			return b, r.UnreadByte()
		}
	}
}

// serveDAP puts server/dap between the client and the server.
func (s *server) serveDAP(ctx context.Context, c *opening) {
	up, err := s.up.connect(ctx)
	if err != nil {
		s.Warn("%v: %v", c.RemoteAddr(), err)
		wire.Refuse(c, s.MaxMessage, err)
		linger(c)
		return
	}
	dap.New(dap.Options{
		Client: c, Upstream: up, Strategies: s.Strategies, DebugFolders: s.DebugFolders,
		MaxMessage: s.MaxMessage, Patience: s.Patience, Log: s.Log,
		Remote: s.reach, Shared: s.owner, Multi: func() string { return s.multi(ctx) },
		Lost: fmt.Sprintf("the connection to the Delve server at %s has ended", s.Upstream),
	}).Run()
	s.up.ended(ctx)
}

// multi returns the address for clients where the server takes several.
func (s *server) multi(ctx context.Context) string {
	if !s.several(ctx) {
		return ""
	}
	return s.addr.String()
}

// several says whether the server takes several clients.
func (s *server) several(ctx context.Context) bool {
	several, err := s.up.takesSeveral(ctx)
	return several && err == nil
}

// reach reaches the program by a connection of its own, on which the server is
// asked for registers and memory.
func (s *server) reach(ctx context.Context) (debuggee.Target, stop.Program, error) {
	several, err := s.up.takesSeveral(ctx)
	if err != nil {
		return nil, nil, err
	}
	if !several {
		return nil, nil, debuggee.ErrOneClient
	}
	conn, err := s.up.dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	program, err := remote.Connect(ctx, conn)
	if err != nil {
		return nil, nil, err
	}
	return program, program.Process(s.DebugFolders), nil
}

// lingering bounds the time for a client to take its last message.
const lingering = time.Second

// linger closes a connection so that the client gets all that was written: the kernel
// drops that if the client's data is not read.
func linger(c *opening) {
	_ = c.CloseWrite()
	_ = c.SetReadDeadline(time.Now().Add(lingering))
	_, _ = io.Copy(io.Discard, c)
}
