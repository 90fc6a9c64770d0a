package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/serve"
	"github.com/clewdbg/clew/server/session"
)

// Config is the configuration of a proxy.
type Config struct {
	// Upstream is the Delve server: host:port, or "unix:" and a path.
	Upstream string
	// Listen is where clients connect, in the same form.
	Listen string
	// AnyUser takes clients of other users too.
	AnyUser bool
	// Announce is called with the address when clients can connect.
	Announce func(net.Addr)
	// Strategies, DebugFolders, Patience and MaxMessage are those of
	// [dap.Options].
	Strategies   debuggee.StrategySource
	DebugFolders []string
	Patience     time.Duration
	MaxMessage   int
	// Log takes messages for the debugging of clew itself; Warn what the user
	// should know. Both may be nil.
	Log, Warn func(format string, args ...any)
}

// server is a proxy that runs.
type server struct {
	Config
	up    *upstream
	owner *session.Session // of all clients, unless the server is clew's and has one
	addr  net.Addr         // where clients connect

	mu      sync.Mutex
	clients map[net.Conn]struct{}
	wait    sync.WaitGroup
}

// GoneError says that the Delve server has ended.
type GoneError struct{ Addr string }

// Error names the server.
func (e *GoneError) Error() string { return fmt.Sprintf("the Delve server at %s is gone", e.Addr) }

// endPatience is the time for clients to read the error that says that the server
// has ended.
const endPatience = 2 * time.Second

// Run serves clients until the server is gone, which is a [*GoneError], or the
// context ends.
func Run(ctx context.Context, cfg Config) error {
	if cfg.Log == nil {
		cfg.Log = func(string, ...any) {}
	}
	if cfg.Warn == nil {
		cfg.Warn = cfg.Log
	}
	up, err := reach(ctx, cfg.Upstream)
	if err != nil {
		return err
	}
	defer up.close()
	listener, err := serve.Listen(cfg.Listen)
	if err != nil {
		return fmt.Errorf("cannot listen at %s: %w; choose another address with --listen", cfg.Listen, err)
	}
	defer func() { _ = listener.Close() }()
	s := &server{Config: cfg, up: up, owner: session.New(session.Options{Insist: up.halt}), addr: listener.Addr(), clients: make(map[net.Conn]struct{})}
	if cfg.Announce != nil {
		cfg.Announce(listener.Addr())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, 1)
	go func() { failed <- s.accept(ctx, listener) }()
	select {
	case <-up.gone:
		err = &GoneError{cfg.Upstream}
	case err = <-failed:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	_ = listener.Close()
	s.end(err)
	return err
}

// accept serves every client that may connect.
func (s *server) accept(ctx context.Context, l net.Listener) error {
	for {
		conn, err := serve.Next(l, s.AnyUser, func(err error) { s.Warn("%v", err) })
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.clients[conn] = struct{}{}
		s.wait.Add(1)
		s.mu.Unlock()
		go func() {
			defer s.wait.Done()
			s.client(ctx, conn)
			_ = conn.Close()
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.clients, conn)
		}()
	}
}

// end waits until the clients know that the server is gone, and then closes what
// is left.
func (s *server) end(err error) {
	var gone *GoneError
	done := make(chan struct{})
	go func() {
		s.wait.Wait()
		close(done)
	}()
	if errors.As(err, &gone) {
		select {
		case <-done:
			return
		case <-time.After(endPatience):
		}
	}
	s.mu.Lock()
	for conn := range s.clients {
		_ = conn.Close()
	}
	s.mu.Unlock()
	select {
	case <-done:
	case <-time.After(endPatience): // a plugin that does not end; it has its own guard
	}
}
