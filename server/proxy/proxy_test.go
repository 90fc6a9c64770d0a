package proxy_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/proxy"
)

// patience is far above what anything takes, on a loaded machine too.
const patience = time.Minute

// server plays a headless Delve server with several clients: it answers what the
// proxy asks for itself, and leaves every other connection to serve.
type server struct {
	t        *testing.T
	listener net.Listener
	serve    func(conn net.Conn, r *bufio.Reader)

	mu    sync.Mutex
	conns []net.Conn
	ended chan struct{} // one token for each connection of a client that is closed
}

func upstream(t *testing.T, serve func(net.Conn, *bufio.Reader)) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, listener: l, serve: serve, ended: make(chan struct{}, 100)}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, conn)
			s.mu.Unlock()
			go s.client(conn)
		}
	}()
	t.Cleanup(s.die)
	return s
}

const multiclientRequest = `{"method":"RPCServer.IsMulticlient"`

func (s *server) client(conn net.Conn) {
	r := bufio.NewReader(conn)
	if begin, _ := r.Peek(len(multiclientRequest)); string(begin) == multiclientRequest {
		_, _ = r.ReadString('\n')
		_, _ = io.WriteString(conn, `{"id":0,"result":{"IsMulticlient":true},"error":null}`+"\n")
		_, _ = io.Copy(io.Discard, r)
		_ = conn.Close()
		return
	}
	if _, err := r.Peek(1); err == nil {
		s.serve(conn, r)
	}
	_ = conn.Close()
	s.ended <- struct{}{}
}

// die ends the server as a kill does.
func (s *server) die() {
	_ = s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		_ = c.Close()
	}
}

// run runs a proxy before the server; wait waits for its end.
func run(t *testing.T, s *server) (addr string, stop context.CancelFunc, wait func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	announced, result := make(chan net.Addr, 1), make(chan error, 1)
	go func() {
		result <- proxy.Run(ctx, proxy.Config{
			Upstream: s.listener.Addr().String(), Listen: "127.0.0.1:0", Announce: func(a net.Addr) { announced <- a },
			Strategies: none{}, Log: t.Logf,
		})
	}()
	var once sync.Once
	var ended error
	wait = func() error {
		t.Helper()
		once.Do(func() {
			select {
			case ended = <-result:
			case <-time.After(patience):
				t.Fatal("the proxy does not end")
			}
		})
		return ended
	}
	t.Cleanup(func() {
		cancel()
		_ = wait()
	})
	select {
	case a := <-announced:
		return a.String(), cancel, wait
	case <-time.After(patience):
		t.Fatal("the proxy does not begin")
	}
	return "", nil, nil
}

// none has no strategies: there is no program to read.
type none struct{}

func (none) Check(debuggee.StrategyConfig) error { return nil }

func (none) Open(debuggee.StrategyConfig) (*debuggee.Strategies, error) {
	return nil, errors.New("none")
}

type client struct {
	t *testing.T
	net.Conn
	r *dapwire.Reader
}

func dial(t *testing.T, addr string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	return &client{t, conn, dapwire.NewReader(conn, 0)}
}

func (c *client) send(content string) {
	c.t.Helper()
	if err := dapwire.Write(c, []byte(content)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) request(seq int, command string) {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"seq":%d,"type":"request","command":%q}`, seq, command))
}

// read returns the next message; nil at the end.
func (c *client) read() *dapwire.Message {
	c.t.Helper()
	content, err := c.r.Read()
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	if err != nil {
		c.t.Fatalf("instead of a message: %v", err)
	}
	m, err := dapwire.Parse(content)
	if err != nil {
		c.t.Fatal(err)
	}
	return m
}

// lost reads to the end: the requests that were not answered are, with an error
// that has the text, and then the session ends.
func (c *client) lost(text string, requests ...int64) {
	c.t.Helper()
	var failed []int64
	terminated := false
	for m := c.read(); m != nil; m = c.read() {
		switch {
		case m.Type == dapwire.TypeResponse:
			if m.Success || !strings.Contains(string(m.Bytes()), text) {
				c.t.Errorf("a request without a server to answer it: %s", m.Bytes())
			}
			failed = append(failed, m.RequestSeq)
		case m.Event == "terminated":
			terminated = true
		}
	}
	if !terminated || fmt.Sprint(failed) != fmt.Sprint(requests) {
		c.t.Errorf("terminated: %v; requests %d have failed, want %d", terminated, failed, requests)
	}
}

// answering answers every request of the Debug Adapter Protocol with success; the
// commands in special are something else's.
func answering(special map[string]func(net.Conn, *dapwire.Message)) func(net.Conn, *bufio.Reader) {
	return func(conn net.Conn, r *bufio.Reader) {
		in := dapwire.NewReader(r, 0)
		for {
			content, err := in.Read()
			if err != nil {
				return
			}
			m, err := dapwire.Parse(content)
			if err != nil {
				return
			}
			if f := special[m.Command]; f != nil {
				f(conn, m)
				continue
			}
			answer, err := dapwire.NewResponse(m, map[string]any{})
			if err != nil || dapwire.Write(conn, answer.Bytes()) != nil {
				return
			}
		}
	}
}

const hasEnded = "the connection to the Delve server at "

// idOf returns the ID of a request of JSON-RPC.
func idOf(t *testing.T, request []byte) json.RawMessage {
	var r struct{ ID json.RawMessage }
	if err := json.Unmarshal(request, &r); err != nil {
		t.Errorf("%s: %v", request, err)
	}
	return r.ID
}

// TestServerDies: clients that wait hear of it, in either protocol, and the proxy
// ends.
func TestServerDies(t *testing.T) {
	arrived := make(chan struct{}, 10)
	swallow := func(net.Conn, *dapwire.Message) { arrived <- struct{}{} }
	debug := answering(map[string]func(net.Conn, *dapwire.Message){"threads": swallow, "source": swallow})
	s := upstream(t, func(conn net.Conn, r *bufio.Reader) {
		if first, _ := r.Peek(1); first[0] == 'C' {
			debug(conn, r)
			return
		}
		for i := range 3 { // answers the first
			request, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			if i == 0 {
				fmt.Fprintf(conn, `{"id":%s,"result":{"a":"}{"},"error":null}`+"\n", idOf(t, request))
			}
			arrived <- struct{}{}
		}
		_, _ = io.Copy(io.Discard, r)
	})
	addr, _, wait := run(t, s)
	a, b := dial(t, addr), dial(t, addr)
	a.request(1, "initialize")
	if m := a.read(); !m.Success {
		t.Fatalf("%s", m.Bytes())
	}
	a.request(2, "source")
	a.request(3, "threads") // which clew waits for itself
	for _, id := range []string{"7", "8", `"nine"`} {
		fmt.Fprintf(b, `{"method":"RPCServer.Recorded","params":[{"a":"{\"}"}],"id":%s}`+"\n", id)
	}
	for range 5 {
		<-arrived
	}
	r := bufio.NewReader(b)
	first, _ := r.ReadString('\n')
	s.die()
	a.lost(hasEnded, 2, 3)
	text, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	lines := strings.Split(strings.TrimSpace(first+string(text)), "\n")
	if len(lines) != 3 || lines[0] != `{"id":7,"result":{"a":"}{"},"error":null}` {
		t.Fatalf("%q", lines)
	}
	waiting := map[any]bool{8.0: true, "nine": true}
	for _, line := range lines[1:] {
		var answer struct {
			ID    any
			Error string
		}
		if err := json.Unmarshal([]byte(line), &answer); err != nil || !waiting[answer.ID] || !strings.Contains(answer.Error, hasEnded) {
			t.Errorf("%q: %v", line, err)
		}
		delete(waiting, answer.ID)
	}
	var gone *proxy.GoneError
	if err := wait(); !errors.As(err, &gone) {
		t.Errorf("the proxy ends with %v", err)
	}
}

// TestHalfAnAnswer: what the server dies in the middle of is not made to look
// whole.
func TestHalfAnAnswer(t *testing.T) {
	const half = `,"result":{"State":{"Running":fal`
	s := upstream(t, func(conn net.Conn, r *bufio.Reader) {
		if first, _ := r.Peek(1); first[0] == 'C' {
			answering(map[string]func(net.Conn, *dapwire.Message){"threads": func(conn net.Conn, _ *dapwire.Message) {
				_, _ = io.WriteString(conn, "Content-Length: 1000\r\n\r\n{\"seq\":5,")
				_ = conn.Close()
			}})(conn, r)
			return
		}
		request, _ := r.ReadBytes('\n')
		fmt.Fprintf(conn, `{"id":%s%s`, idOf(t, request), half)
	})
	addr, _, _ := run(t, s)
	c := dial(t, addr)
	fmt.Fprintln(c, `{"method":"RPCServer.State","params":[{}],"id":1}`)
	if text, err := io.ReadAll(c); err != nil || strings.Count(string(text), "\n") != 1 || !strings.HasPrefix(string(text), `{"id":1,`) || !strings.Contains(string(text), hasEnded) {
		t.Errorf("%q, %v", text, err)
	}
	d := dial(t, addr)
	d.request(1, "threads")
	d.lost(hasEnded, 1)
}

// TestServerTalksNonsense: a client hears that there is no more, and others are
// served.
func TestServerTalksNonsense(t *testing.T) {
	for name, nonsense := range map[string]string{
		"no length":   "Content-Type: x\r\n\r\n",
		"negative":    "Content-Length: -1\r\n\r\n",
		"not a frame": "HTTP/1.1 400 Bad Request\r\n\r\n",
		"cut short":   "Content-Length: 99999999999\r\n\r\n{}",
		"long line":   strings.Repeat("x", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			s := upstream(t, answering(map[string]func(net.Conn, *dapwire.Message){"threads": func(conn net.Conn, _ *dapwire.Message) {
				_, _ = io.WriteString(conn, nonsense)
				_ = conn.(*net.TCPConn).CloseWrite()
			}}))
			addr, _, _ := run(t, s)
			c := dial(t, addr)
			c.request(4, "threads")
			c.lost(hasEnded, 4)
			<-s.ended
			d := dial(t, addr)
			d.request(1, "source")
			if m := d.read(); m == nil || !m.Success {
				t.Errorf("the next client gets %v", m)
			}
		})
	}
	t.Run("no message", func(t *testing.T) { // is passed over
		s := upstream(t, answering(map[string]func(net.Conn, *dapwire.Message){"threads": func(conn net.Conn, m *dapwire.Message) {
			for _, content := range []string{"", "{", "[]", "null", `{"type":5}`, `{"seq":"x","type":"event"}`} {
				_ = dapwire.Write(conn, []byte(content))
			}
			answer, _ := dapwire.NewResponse(m, map[string]any{})
			_ = dapwire.Write(conn, answer.Bytes())
		}}))
		addr, _, _ := run(t, s)
		c := dial(t, addr)
		c.request(4, "threads")
		for m := c.read(); ; m = c.read() {
			if m == nil {
				t.Fatal("no answer")
			}
			if m.Type == dapwire.TypeResponse && m.RequestSeq == 4 {
				return
			}
		}
	})
}

// TestClientTalksNonsense: it is told so where it speaks the Debug Adapter
// Protocol, and others are served.
func TestClientTalksNonsense(t *testing.T) {
	s := upstream(t, answering(nil))
	addr, _, _ := run(t, s)
	for _, nonsense := range []string{"", "GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x02\x00", "   \n", "\x00", strings.Repeat(" ", 1<<20)} {
		c := dial(t, addr)
		_, _ = io.WriteString(c, nonsense)
		_ = c.Conn.(*net.TCPConn).CloseWrite()
		if text, _ := io.ReadAll(c); len(text) > 0 {
			t.Errorf("%.20q is answered: %q", nonsense, text)
		}
	}
	for _, nonsense := range []string{
		"Content-Length: -5\r\n\r\n", "Content-Length: 99999999999\r\n\r\n", "Cache-Control: no\r\n\r\n", "Cookie\r\n\r\n", "C" + strings.Repeat("x", 1<<16),
	} {
		c := dial(t, addr)
		_, _ = io.WriteString(c, nonsense)
		m := c.read()
		if m == nil || m.Success || !strings.Contains(string(m.Bytes()), "Malformed message") {
			t.Errorf("%.40q gets %v", nonsense, m)
		}
		<-s.ended
	}
	c := dial(t, addr)
	c.request(1, "threads")
	if m := c.read(); m == nil || !m.Success {
		t.Errorf("the next client gets %v", m)
	}
}

// TestClientVanishes: in the middle of a request, of a message, of a word. The
// server hears of it, and nothing is left over.
func TestClientVanishes(t *testing.T) {
	never := func(net.Conn, *dapwire.Message) {}
	debug := answering(map[string]func(net.Conn, *dapwire.Message){"threads": never})
	s := upstream(t, func(conn net.Conn, r *bufio.Reader) {
		if first, _ := r.Peek(1); first[0] == 'C' {
			debug(conn, r)
			return
		}
		for requests := json.NewDecoder(r); ; { // what it is, and no more
			var request struct {
				Method string
				ID     int
			}
			if requests.Decode(&request) != nil {
				return
			}
			if strings.HasSuffix(request.Method, ".GetVersion") {
				_, _ = fmt.Fprintf(conn, `{"id":%d,"result":{},"error":null}`+"\n", request.ID)
			}
		}
	})
	addr, _, _ := run(t, s)
	warm := dial(t, addr) // takes the first connection; the proxy keeps another
	warm.request(1, "source")
	warm.read()
	// What serves the first client may not all run yet. A kind of client that leaves
	// something behind leaves it ten times.
	before := runtime.NumGoroutine() + 5
	for range 10 {
		for _, begun := range []string{
			`{"method":"RPCServer.ListThreads","params":[{}],"id":1}`, `{"method":`, `{"`,
			"Content-Length: 46\r\n\r\n" + `{"seq":1,"type":"request","command":"threads"}`, "Content-Length: 46\r\n\r\n{", "Con",
		} {
			c := dial(t, addr)
			_, _ = io.WriteString(c, begun)
			if len(begun)%2 == 0 {
				_ = c.Conn.(*net.TCPConn).SetLinger(0) // a reset
			}
			_ = c.Close()
		}
	}
	last := dial(t, addr) // those before it have been accepted
	last.request(1, "source")
	last.read()
	_ = last.Close()
	for end := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
	warm.request(2, "source")
	if m := warm.read(); m == nil || !m.Success {
		t.Errorf("the client that stays gets %v", m)
	}
}

// TestSlowReader: a client that does not read holds up no other client, neither the
// proxy's end.
func TestSlowReader(t *testing.T) {
	flood := func(conn net.Conn, _ *dapwire.Message) {
		event := []byte(`{"seq":1,"type":"event","event":"output","body":{"output":"` + strings.Repeat("x", 1<<20) + `"}}`)
		for range 100 {
			if dapwire.Write(conn, event) != nil {
				return
			}
		}
	}
	debug := answering(map[string]func(net.Conn, *dapwire.Message){"threads": flood})
	s := upstream(t, func(conn net.Conn, r *bufio.Reader) {
		if first, _ := r.Peek(1); first[0] == 'C' {
			debug(conn, r)
			return
		}
		for {
			if _, err := io.WriteString(conn, strings.Repeat(`{"id":1,"result":{}}`, 1000)); err != nil {
				return
			}
		}
	})
	for _, how := range []string{"the server dies", "the proxy is stopped"} {
		t.Run(how, func(t *testing.T) {
			if how == "the proxy is stopped" {
				s = upstream(t, s.serve)
			}
			addr, stop, wait := run(t, s)
			slow, slower := dial(t, addr), dial(t, addr)
			slow.request(1, "threads")
			fmt.Fprintln(slower, `{"method":"RPCServer.State","params":[{}],"id":1}`)
			other := dial(t, addr)
			for i := range 100 {
				other.request(i+1, "source")
				if m := other.read(); m == nil || !m.Success {
					t.Fatalf("another client gets %v", m)
				}
			}
			if how == "the server dies" {
				s.die()
			} else {
				stop()
			}
			_ = wait()
		})
	}
}
