package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/internal/bounded"
	"github.com/clewdbg/clew/server/remote"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/server/terminal"
)

// serveRPC puts server/terminal between the client and the server.
func (s *server) serveRPC(ctx context.Context, c *opening) {
	conn, err := s.up.connect(ctx)
	if err != nil {
		s.Warn("%v: %v", c.RemoteAddr(), err)
		refuseRPC(c, err)
		linger(c)
		return
	}
	up := terminal.NewUpstream(bounded.NewAnswers(conn), fmt.Errorf("clew proxy: the connection to the Delve server at %s has ended", s.Upstream))
	front := terminal.Front{
		Client: c, Upstream: up, Owner: s.owner, Several: func() bool { return s.several(ctx) },
		Stacks: stop.StacksOptions{Strategies: s.strategies, Patience: s.Patience, Log: s.Log, Notify: func(text string) { s.Warn("%s", text) }},
		Open: func() (terminal.Held, stop.Program, error) {
			program, err := remote.Over(ctx, up.Pipe(), socket(conn))
			if err != nil {
				return nil, nil, err
			}
			return program, program.Process(s.DebugFolders), nil
		},
	}
	front.Serve(func() { _ = closeWrite(conn) })
	_, _ = c.Close(), conn.Close()
	s.up.ended(ctx)
}

// strategies opens those that are configured for all sessions.
func (s *server) strategies() ([]engine.Named, func(), error) {
	opened, err := s.Strategies.Open(debuggee.StrategyConfig{})
	if err != nil {
		return nil, nil, err
	}
	return opened.Order, opened.Close, nil
}

// socket returns the connection that the system knows.
func socket(conn net.Conn) net.Conn {
	if k, ok := conn.(*kept); ok {
		return k.Conn
	}
	return conn
}

// maxRequest bounds the request that is read to refuse it.
const maxRequest = 1 << 20

// refuseRPC answers a client's first request with an error: there is no server
// for it.
func refuseRPC(c net.Conn, cause error) {
	var r struct {
		ID json.RawMessage `json:"id"`
	}
	if err := json.NewDecoder(io.LimitReader(c, maxRequest)).Decode(&r); err != nil || r.ID == nil {
		return
	}
	answer, err := json.Marshal(struct {
		ID     json.RawMessage `json:"id"`
		Result any             `json:"result"`
		Error  string          `json:"error"`
	}{r.ID, nil, "clew proxy: " + cause.Error()})
	if err == nil {
		_, _ = c.Write(append(answer, '\n'))
	}
}
