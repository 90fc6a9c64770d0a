package serve

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clewdbg/clew/server/dap"
	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/delvelog"
	"github.com/clewdbg/clew/server/delve/interpose"
	"github.com/clewdbg/clew/server/lifeline"
	"github.com/clewdbg/clew/server/session"
)

// Config is what every session of a server has in common.
type Config struct {
	Delve      delve.DAPConfig
	Strategies debuggee.StrategySource
	// DebugFolders are where separate debug files are looked for; nil: the usual
	// ones.
	DebugFolders []string
	// Lifeline starts the guard that sees to the program if this process is
	// killed.
	Lifeline   func(client *os.File) (*lifeline.Line, error)
	MaxMessage int
	// Patience bounds what clew does for one request; see [dap.Options].
	Patience time.Duration
	// Join makes what serves the clients that Joins brings; they join the editor's session. Joins
	// is nil where none come.
	Join  func(*delve.DAP) Joiner
	Joins *net.UnixConn
}

// Session is one client's session in this process.
type Session struct {
	delve  *delve.DAP
	proxy  *dap.Proxy
	guard  *lifeline.Guard
	joiner Joiner // nil where no other client can join
	done   chan struct{}
	end    sync.Once
}

// Start serves a client in the background.
func Start(cfg Config, client io.ReadWriteCloser) (*Session, error) {
	if conn, ok := client.(net.Conn); ok && cfg.Delve.Addr == nil {
		cfg.Delve.Addr = conn.LocalAddr()
	}
	s := &Session{done: make(chan struct{})}
	if cfg.Lifeline != nil {
		s.guard = lifeline.NewGuard(cfg.Lifeline, duplicate(client))
		cfg.Delve.OnLaunch = func(path string) {
			if err := s.guard.Launch(path); err != nil {
				delvelog.DAP("guard: %v", err)
			}
		}
	}
	interpose.UseGuard(s.guard)
	d, err := delve.StartDAP(cfg.Delve)
	if err != nil {
		_ = client.Close()
		return nil, err
	}
	s.delve = d
	opts := dap.Options{
		Client: client, Upstream: d.Conn(), Session: d.Session,
		Strategies: cfg.Strategies, DebugFolders: cfg.DebugFolders, MaxMessage: cfg.MaxMessage, Patience: cfg.Patience, Log: delvelog.DAP,
	}
	if s.guard != nil {
		opts.Guard = s.guard
	}
	if cfg.Joins != nil {
		s.join(cfg.Join(d), cfg.Joins, &opts)
	} else {
		opts.Shared = session.New(session.Options{Nudge: interpose.Nudge, Announce: interpose.AnnounceHalt})
	}
	s.proxy = dap.New(opts)
	go func() {
		defer close(s.done)
		s.proxy.Run()
	}()
	return s, nil
}

// duplicate returns another descriptor of a connection, nil if there is none: the client is told nothing by it then. It leaves the connection as it
// is; by its File, both would block, and no read of it would end when it is closed.
func duplicate(client io.ReadWriteCloser) *os.File {
	conn, ok := client.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil
	}
	fd := -1
	if raw.Control(func(own uintptr) { fd, err = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 3) }) != nil || err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), "client")
}

// Done is closed when Delve has ended the session, or the client is gone:
// [Session.Close] is what remains.
func (s *Session) Done() <-chan struct{} { return s.delve.Done() }

// Close ends the session: a program that was launched is killed, one that was
// attached to goes on.
func (s *Session) Close() {
	s.end.Do(func() {
		if s.joiner != nil {
			s.joiner.End()
			defer s.joiner.Close()
		}
		s.delve.Close()
		<-s.done
		s.guard.Release()
	})
}

// serve serves one client until its session ends or interrupted is closed.
func serve(cfg Config, client io.ReadWriteCloser, interrupted <-chan os.Signal) error {
	s, err := Start(cfg, client)
	if err != nil {
		return fmt.Errorf("start a session: %w", err)
	}
	defer s.Close()
	select {
	case <-s.Done():
	case <-s.done: // the client is gone, and Delve may not see it: see delve.DAP.Close
	case <-s.ended():
	case <-interrupted:
	}
	return nil
}
