package proxy

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/rpc"
	"net/rpc/jsonrpc"
	"sync"
	"time"

	"github.com/clewdbg/clew/server/dap/serve"
	"github.com/clewdbg/clew/server/internal/bounded"
)

// Time limits for the server to accept a connection, and to say whether it accepts
// several. It answers at once or never, even while its program runs.
const (
	dialPatience = 10 * time.Second
	kindPatience = 5 * time.Second
)

var errOneClient = errors.New("the Delve server takes one client only; start it with --headless --accept-multiclient for more")

// upstream is the server before which the proxy stands.
type upstream struct {
	addr string

	mu    sync.Mutex
	first *kept // until a client takes it
	over  bool  // the proxy has ended

	asked   sync.Once
	known   chan struct{} // closed when the next is known
	several bool          // it takes several connections
	watch   *kept         // keeps one then
	halts   *rpc.Client   // by which the program is halted; nil until it is needed

	gone     chan struct{}
	goneOnce sync.Once
}

// reach connects to the server.
func reach(ctx context.Context, addr string) (*upstream, error) {
	u := &upstream{addr: addr, known: make(chan struct{}), gone: make(chan struct{})}
	conn, err := u.dial(ctx)
	if err != nil {
		return nil, err
	}
	u.first = keep(conn, u.lost)
	return u, nil
}

func (u *upstream) dial(ctx context.Context) (net.Conn, error) { return Dial(ctx, u.addr) }

// Dial connects to a Delve server. The error says how to start one.
func Dial(ctx context.Context, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	conn, err := serve.Dial(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("no Delve server at %s (%w); start one there: dlv exec PROGRAM --headless --accept-multiclient --listen=%[1]s", addr, err)
	}
	return conn, nil
}

// lost records that the server is gone.
func (u *upstream) lost() { u.goneOnce.Do(func() { close(u.gone) }) }

// connect returns a connection for a client.
func (u *upstream) connect(ctx context.Context) (net.Conn, error) {
	u.mu.Lock()
	first := u.first
	u.first = nil
	u.mu.Unlock()
	if first != nil {
		conn := first.take()
		go u.ask() // no client connects before: it might be the only connection
		return conn, nil
	}
	several, err := u.takesSeveral(ctx)
	if err != nil {
		return nil, err
	}
	if !several {
		return nil, errOneClient
	}
	return u.dial(ctx)
}

// takesSeveral says whether the server takes several connections, once that is
// known.
func (u *upstream) takesSeveral(ctx context.Context) (bool, error) {
	select {
	case <-u.known:
		return u.several, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// ended is called when the server has closed a client's connection, or has ended.
func (u *upstream) ended(ctx context.Context) {
	if several, err := u.takesSeveral(ctx); err == nil && !several {
		u.lost()
	}
}

// ask finds out whether the server takes several connections.
func (u *upstream) ask() {
	u.asked.Do(func() {
		defer close(u.known)
		conn, err := u.dial(context.Background())
		if err != nil {
			return
		}
		if !multiclient(conn) {
			_ = conn.Close()
			return
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.over {
			_ = conn.Close()
			return
		}
		u.several, u.watch = true, keep(conn, u.lost)
	})
}

// halt has the server halt its program, by a connection on which nothing else is asked.
func (u *upstream) halt() {
	go func() {
		if several, err := u.takesSeveral(context.Background()); !several || err != nil {
			return
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.over {
			return
		}
		if u.halts == nil {
			conn, err := u.dial(context.Background())
			if err != nil {
				return // the server is gone
			}
			u.halts = jsonrpc.NewClient(bounded.NewAnswers(conn))
		}
		u.halts.Go("RPCServer.Command", map[string]string{"name": "halt"}, new(json.RawMessage), make(chan *rpc.Call, 1)) // whether it stops is seen at its stop
	}()
}

// multiclient asks the server on a new connection. A server for one client only has
// closed its port or, `dlv dap`, does not answer.
func multiclient(conn net.Conn) bool {
	_ = conn.SetDeadline(time.Now().Add(kindPatience))
	if _, err := io.WriteString(conn, `{"method":"RPCServer.IsMulticlient","params":[{}],"id":0}`+"\n"); err != nil {
		return false
	}
	var answer struct {
		Result struct{ IsMulticlient bool } `json:"result"`
		Error  any                          `json:"error"`
	}
	err := json.NewDecoder(io.LimitReader(conn, 1<<16)).Decode(&answer)
	_ = conn.SetDeadline(time.Time{})
	return err == nil && answer.Error == nil && answer.Result.IsMulticlient
}

// close closes the proxy's own connections.
func (u *upstream) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.over = true
	for _, k := range []*kept{u.first, u.watch} {
		if k != nil {
			_ = k.Close()
		}
	}
	if u.halts != nil {
		_ = u.halts.Close()
	}
}

// kept is an idle connection, held to notice when the server ends. The server sends
// data only in answer to a request.
type kept struct {
	net.Conn
	ahead *bufio.Reader
	read  chan struct{} // closed when the first read is back

	mu    sync.Mutex
	taken bool
}

func keep(conn net.Conn, lost func()) *kept {
	k := &kept{Conn: conn, ahead: bufio.NewReader(conn), read: make(chan struct{})}
	go func() {
		_, err := k.ahead.Peek(1)
		close(k.read)
		k.mu.Lock()
		defer k.mu.Unlock()
		if err != nil && !k.taken && !errors.Is(err, net.ErrClosed) {
			lost()
		}
	}()
	return k
}

// take hands the connection to a client, which then notices its end itself.
func (k *kept) take() net.Conn {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.taken = true
	return k
}

// Read returns the bytes that were read ahead, then reads the connection.
func (k *kept) Read(p []byte) (int, error) {
	<-k.read
	return k.ahead.Read(p)
}

// CloseWrite says that nothing more will be written.
func (k *kept) CloseWrite() error { return closeWrite(k.Conn) }

// closeWrite closes one direction of a connection.
func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}
