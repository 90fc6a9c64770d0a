package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/clewdbg/clew/server/dap/serve"
)

// Time limits for the server to accept a connection, and to say whether it accepts
// several. It answers at once or never, even while its program runs.
const (
	dialPatience = 10 * time.Second
	kindPatience = 5 * time.Second
)

// UnreachableError says that there is no server at the address.
type UnreachableError struct {
	Addr string
	Err  error
}

// Error says what to do.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no Delve server at %s (%v); start one there: dlv exec PROGRAM --headless --accept-multiclient --listen=%s", e.Addr, e.Err, e.Addr)
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

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

// Dial connects to a Delve server. The error is an [*UnreachableError].
func Dial(ctx context.Context, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	conn, err := serve.Dial(ctx, addr)
	if err != nil {
		return nil, &UnreachableError{addr, err}
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
}

// kept is an idle connection, held to notice when the server ends. The server sends
// data only in answer to a request.
type kept struct {
	net.Conn
	lost  func()
	read  chan struct{} // closed when the first read is back
	n     int
	first [1]byte
	err   error

	mu    sync.Mutex
	taken bool
}

func keep(conn net.Conn, lost func()) *kept {
	k := &kept{Conn: conn, lost: lost, read: make(chan struct{})}
	go func() {
		k.n, k.err = conn.Read(k.first[:])
		close(k.read)
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.err != nil && !k.taken && !errors.Is(k.err, net.ErrClosed) {
			k.lost()
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

// Read returns the byte that was read ahead, then reads the connection.
func (k *kept) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	<-k.read
	k.mu.Lock()
	n, err := k.n, k.err
	k.n = 0
	k.mu.Unlock()
	if n > 0 {
		p[0] = k.first[0]
		return 1, nil
	}
	if err != nil {
		return 0, err
	}
	return k.Conn.Read(p)
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
