package serve

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/delvelog"
)

// Server takes clients from a listener.
type Server struct {
	Config
	Listener net.Listener
	// AnyUser takes clients of other users as well.
	AnyUser bool
	// Multi goes on after a session, and makes a process for each.
	Multi *Multi
}

// Run announces the server and serves. It returns when the session has ended
// (of a server for many: when it is interrupted), or a signal came.
func (s *Server) Run() error {
	interrupted := delve.EndSignals() // a signal may come as soon as the address is announced
	delvelog.AnnounceDAP(s.Listener.Addr())
	defer func() { _ = s.Listener.Close() }()
	if s.Multi != nil {
		return s.runMulti(interrupted)
	}
	conn, err := s.accept(interrupted)
	if err != nil || conn == nil {
		return err
	}
	s.Delve.Addr = s.Listener.Addr()
	return serve(s.Config, conn, interrupted)
}

// Serve serves one client that is connected already, until its session ends or
// a signal comes.
func Serve(cfg Config, client io.ReadWriteCloser) error {
	return serve(cfg, client, delve.EndSignals())
}

// accept takes the next client that may connect; nil when a signal came first.
func (s *Server) accept(interrupted <-chan os.Signal) (net.Conn, error) {
	type accepted struct {
		conn net.Conn
		err  error
	}
	result := make(chan accepted, 1)
	go func() {
		conn, err := s.next()
		result <- accepted{conn, err}
	}()
	select {
	case r := <-result:
		return r.conn, r.err
	case <-interrupted:
		_ = s.Listener.Close()
		if r := <-result; r.conn != nil {
			_ = r.conn.Close()
		}
		return nil, nil
	}
}

// next takes the next client that may connect.
func (s *Server) next() (net.Conn, error) {
	return Next(s.Listener, s.AnyUser, func(err error) { delvelog.DAPError("%v", err) })
}

// Next takes the next client that may connect: with anyUser one of other users
// too. One that may not does not end the server; refused is told.
func Next(l net.Listener, anyUser bool, refused func(error)) (net.Conn, error) {
	for {
		conn, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return nil, err
			}
			return nil, fmt.Errorf("accept a client: %w", err)
		}
		if anyUser {
			return conn, nil
		}
		if err := checkPeer(l.Addr(), conn); err != nil {
			_ = conn.Close()
			refused(err)
			continue
		}
		return conn, nil
	}
}
