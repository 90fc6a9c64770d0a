package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/dapwire/dapwiretest"
)

// asSession and asStdio are arguments with which this test's executable is not a test.
const (
	asSession = "serve-a-session"
	asStdio   = "serve-stdio"
)

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == asSession:
		fakeSession(os.Args[2:])
	case len(os.Args) > 1 && os.Args[1] == asStdio:
		fakeStdio()
	default:
		os.Exit(m.Run())
	}
}

// fakeSession is a session's process: it says who it is, and answers line by line until
// its client is gone. It has a program from the first line on, and greets those who join.
func fakeSession(args []string) {
	fd, err := strconv.Atoi(args[0])
	if err != nil {
		os.Exit(2)
	}
	if joins, err := strconv.Atoi(args[2]); err == nil {
		go fakeJoins(joins)
	}
	conn, err := Inherited(fd)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	group, _ := syscall.Getpgid(0)
	fmt.Fprintf(conn, "%d %d\n", os.Getpid(), group)
	n, _ := strconv.Atoi(args[1])
	fmt.Fprintf(os.NewFile(uintptr(n), "log"), "log of %d\n", os.Getpid())
	_, _ = io.Copy(conn, conn)
}

// fakeJoins says that there is a program, and greets those who join.
func fakeJoins(fd int) {
	joins, err := InheritedJoins(fd)
	if err != nil {
		os.Exit(4)
	}
	_, _ = joins.Write([]byte{0})
	for {
		conn, err := receive(joins)
		if err != nil {
			return
		}
		fmt.Fprintf(conn, "joined %d\n", os.Getpid())
		_ = conn.Close()
	}
}

// fakeStdio echoes one line of its standard input, and prints as a program does.
func fakeStdio() {
	conn, err := Stdio()
	if err != nil {
		os.Exit(2)
	}
	fmt.Println("printed by the program")
	if n, err := os.Stdin.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		os.Exit(3)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		os.Exit(4)
	}
	fmt.Fprintf(conn, "echo %s", line)
	_ = conn.Close()
}

// shortDir makes a folder with a short path: that of a socket ends at 108 bytes.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "d")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// TestListen: addresses are as Delve has them, and a socket is for its owner only.
func TestListen(t *testing.T) {
	path := filepath.Join(shortDir(t), "s")
	for _, addr := range []string{"127.0.0.1:0", "unix:" + path} {
		l, err := Listen(addr)
		if err != nil {
			t.Fatal(err)
		}
		at := l.Addr().String()
		if l.Addr().Network() == "unix" {
			if at != path {
				t.Errorf("it listens at %s", at)
			}
			at = addr
			if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%v, %v", info, err)
			}
			if _, err := Listen(addr); !errors.Is(err, syscall.EADDRINUSE) {
				t.Errorf("a second listener: %v", err)
			}
		}
		conn, err := Dial(context.Background(), at)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Dial(ctx, at); err == nil {
			t.Error("a context that has ended does not end dialling")
		}
		_ = l.Close()
		if _, err := Dial(context.Background(), at); err == nil {
			t.Errorf("%s still takes clients", at)
		}
	}
	if mask := syscall.Umask(0o022); mask == 0o077 {
		t.Error("the process keeps the umask of the socket")
	} else {
		syscall.Umask(mask)
	}
	for _, wrong := range []string{"nonsense", "unix:/nonexistent/s"} {
		if l, err := Listen(wrong); err == nil {
			_ = l.Close()
			t.Errorf("%s is an address", wrong)
		}
	}
}

// queued is a listener with connections that came already.
type queued struct {
	addr  net.Addr
	conns []net.Conn
}

func (q *queued) Addr() net.Addr { return q.addr }
func (q *queued) Close() error   { return nil }
func (q *queued) Accept() (net.Conn, error) {
	if len(q.conns) == 0 {
		return nil, net.ErrClosed
	}
	conn := q.conns[0]
	q.conns = q.conns[1:]
	return conn, nil
}

// accepted makes a connection to a listener, and returns the listener's end.
func accepted(t *testing.T, addr string) (conn net.Conn, at net.Addr) {
	t.Helper()
	l, err := Listen(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	to := addr
	if l.Addr().Network() == "tcp" {
		to = l.Addr().String()
	}
	client, err := Dial(context.Background(), to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if conn, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn, l.Addr()
}

// TestNext: a client whose user cannot be found out is closed, and the next one is taken.
func TestNext(t *testing.T) {
	socket := "unix:" + filepath.Join(shortDir(t), "s")
	closed, at := accepted(t, socket)
	_ = closed.Close() // the kernel cannot be asked about it
	good, _ := accepted(t, socket)
	var refused []error
	note := func(err error) { refused = append(refused, err) }
	got, err := Next(&queued{at, []net.Conn{closed, good}}, false, note)
	var peer *PeerError
	if err != nil || got != good || len(refused) != 1 || !errors.As(refused[0], &peer) || peer.Err == nil {
		t.Fatalf("%v, %v, refused: %v", got, err, refused)
	}
	if !errors.Is(refused[0], peer.Err) || !strings.Contains(refused[0].Error(), "closing connection") {
		t.Errorf("%v", refused[0])
	}
	refused = nil
	if got, err := Next(&queued{at, []net.Conn{closed}}, true, note); err != nil || got != closed || refused != nil {
		t.Errorf("with any user: %v, %v, refused: %v", got, err, refused)
	}
	if _, err := Next(&queued{addr: at}, false, note); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v", err)
	}
}

// TestPeerUser: users are known on unix sockets and on loopback.
func TestPeerUser(t *testing.T) {
	unix, unixAt := accepted(t, "unix:"+filepath.Join(shortDir(t), "s"))
	tcp, tcpAt := accepted(t, "127.0.0.1:0")
	pipe, _ := net.Pipe()
	anywhere := &net.TCPAddr{IP: net.IPv4zero}
	for _, c := range []struct {
		listener net.Addr
		conn     net.Conn
		known    bool
	}{{unixAt, unix, true}, {tcpAt, tcp, tcpUsersKnown}, {anywhere, tcp, false}, {unixAt, pipe, false}} {
		uid, known, err := peerUser(c.listener, c.conn)
		if err != nil || known != c.known || known && uid != os.Getuid() {
			t.Errorf("%v at %v: user %d, %v, %v", c.conn.RemoteAddr(), c.listener, uid, known, err)
		}
		if err := checkPeer(c.listener, c.conn); err != nil {
			t.Error(err)
		}
	}
	other := &PeerError{Addr: tcpAt, Why: "it is of user 1: " + sameUserOnly}
	if other.Unwrap() != nil || !strings.Contains(other.Error(), "--only-same-user") {
		t.Errorf("%v", other)
	}
}

// TestFiles: a session's process inherits its files and the log, wherever the log is.
func TestFiles(t *testing.T) {
	conn, joins, log := new(os.File), new(os.File), new(os.File)
	for logFD, want := range map[int][]*os.File{
		0: {conn, joins}, 2: {conn, joins}, 3: {log, conn, joins}, 4: {conn, log, joins}, 6: {conn, joins, nil, log},
	} {
		files, fds := (&Multi{Log: log, LogFD: logFD}).files(conn, joins)
		if !slices.Equal(files, want) || !slices.Equal(fds, []int{firstFD + slices.Index(want, conn), firstFD + slices.Index(want, joins)}) {
			t.Errorf("log at %d: %d files, %d", logFD, len(files), fds)
		}
	}
	if files, fds := (&Multi{LogFD: 3}).files(conn); len(files) != 1 || !slices.Equal(fds, []int{firstFD}) {
		t.Errorf("without a log: %d files, %d", len(files), fds)
	}
}

// fakeServer is a server whose sessions are fakes, which write to log.
type fakeServer struct {
	*testing.T
	addr string
	end  func() error
}

const fakeLogFD = 5

func newFakeServer(t *testing.T, log *os.File) *fakeServer {
	l, err := Listen("unix:" + filepath.Join(shortDir(t), "s"))
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Listener: l, AnyUser: true, Multi: &Multi{Log: log, LogFD: fakeLogFD, Command: func(session, joins int) []string {
		return []string{asSession, strconv.Itoa(session), strconv.Itoa(fakeLogFD), strconv.Itoa(joins)}
	}}}
	interrupted, ended := make(chan os.Signal, 1), make(chan error, 1)
	go func() { ended <- s.runMulti(interrupted) }()
	return &fakeServer{t, "unix:" + l.Addr().String(), func() error {
		interrupted <- os.Interrupt
		return <-ended
	}}
}

// dial connects a client, and sends a line.
func (s *fakeServer) dial(line string) *bufio.Reader {
	s.Helper()
	conn, err := Dial(context.Background(), s.addr)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintln(conn, line)
	return bufio.NewReader(conn)
}

// TestManySessions: a client above the limit gets an answer that says so, and those before it go on; when one of them has
// ended, another is served.
func TestManySessions(t *testing.T) {
	defer func(before int) { maxSessions = before }(maxSessions)
	maxSessions = 2
	s := newFakeServer(t, nil)
	open := func() (net.Conn, *bufio.Reader) {
		conn, err := Dial(context.Background(), s.addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		return conn, bufio.NewReader(conn)
	}
	served := func() net.Conn {
		conn, r := open()
		fmt.Fprintln(conn, "hello")
		if line, err := r.ReadString('\n'); err != nil || strings.HasPrefix(line, "Content-Length") {
			t.Fatalf("%q, %v", line, err)
		}
		return conn
	}
	first, _ := served(), served()
	conn, r := open()
	request := `{"seq":1,"type":"request","command":"initialize"}`
	fmt.Fprintf(conn, "Content-Length: %d\r\n\r\n%s", len(request), request)
	if all, err := io.ReadAll(r); err != nil || !strings.Contains(string(all), "sessions already") {
		t.Errorf("%q, %v", all, err)
	}
	_ = first.Close()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		conn, r := open()
		fmt.Fprintln(conn, "hello")
		if line, err := r.ReadString('\n'); err == nil && !strings.HasPrefix(line, "Content-Length") {
			break
		}
		_ = conn.Close()
		if time.Now().After(end) {
			t.Fatal("no session is served after one has ended")
		}
	}
	if err := s.end(); err != nil {
		t.Error(err)
	}
}

// TestMulti: every client has a process of its own, which leads a process group and has
// the log; they end when the server is interrupted.
func TestMulti(t *testing.T) {
	logged, log, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := newFakeServer(t, log)
	var clients []*bufio.Reader
	var pids []int
	for i := range 2 {
		r := s.dial(fmt.Sprintf("hello %d", i))
		var pid, group int
		if _, err := fmt.Fscanf(r, "%d %d\n", &pid, &group); err != nil {
			t.Fatal(err)
		}
		if pid == os.Getpid() || slices.Contains(pids, pid) || group != pid {
			t.Errorf("process %d in group %d; before it: %d", pid, group, pids)
		}
		clients, pids = append(clients, r), append(pids, pid)
	}
	for i, c := range clients { // both at once
		if line, err := c.ReadString('\n'); err != nil || line != fmt.Sprintf("hello %d\n", i) {
			t.Errorf("%q, %v", line, err)
		}
	}
	if err := s.end(); err != nil {
		t.Error(err)
	}
	for i, c := range clients {
		if _, err := c.ReadString('\n'); err == nil {
			t.Error("a session goes on")
		}
		if err := syscall.Kill(pids[i], 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d: %v", pids[i], err)
		}
	}
	_ = log.Close()
	text, err := io.ReadAll(logged)
	for _, pid := range pids {
		if !strings.Contains(string(text), fmt.Sprintf("log of %d\n", pid)) {
			t.Errorf("%s, %v", text, err)
		}
	}
}

// TestJoin: a client of JSON-RPC joins the session that was the last to get a program; without one each
// of its requests is refused.
func TestJoin(t *testing.T) {
	s := newFakeServer(t, os.Stderr)
	const request = `{"method":"RPCServer.State","params":[{}],"id":7}`
	line, err := s.dial(request).ReadString('\n')
	if err != nil || !strings.Contains(line, `"id":7`) || !strings.Contains(line, noProgram) {
		t.Errorf("%q, %v", line, err)
	}
	for range 2 {
		var pid, group int
		if _, err := fmt.Fscanf(s.dial("Content-Length"), "%d %d\n", &pid, &group); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			line, err := s.dial(request).ReadString('\n') // refused until the session has a program
			if err == nil && line == fmt.Sprintf("joined %d\n", pid) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("not joined: %q, %v", line, err)
			}
		}
	}
	if err := s.end(); err != nil {
		t.Error(err)
	}
}

// TestInherited: a file descriptor without a connection is an error.
func TestInherited(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Dup(int(file.Fd()))
	_ = file.Close()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{fd, 1 << 20} {
		if conn, err := Inherited(n); err == nil {
			t.Errorf("%d is %v", n, conn.RemoteAddr())
		}
	}
	var s sessions
	pipe, _ := net.Pipe()
	if err := s.serve(&Multi{}, pipe); err == nil || !strings.Contains(err.Error(), "cannot be handed") {
		t.Errorf("%v", err)
	}
}

// TestStdio: the program's own output does not reach the client.
func TestStdio(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, asStdio)
	cmd.Stdin = strings.NewReader("a line\n")
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil || stdout.String() != "echo a line\n" || stderr.String() != "printed by the program\n" {
		t.Errorf("%v; stdout %q, stderr %q", err, stdout.String(), stderr.String())
	}
}

// request sends a request, and returns the answer; events are passed over.
func request(t *testing.T, conn io.Writer, r *dapwire.Reader, command string, arguments any) *dapwire.Message {
	t.Helper()
	m, err := dapwiretest.Request(command, arguments)
	if err != nil {
		t.Fatal(err)
	}
	m.SetSeq(1)
	if err := dapwire.Write(conn, m.Bytes()); err != nil {
		t.Fatal(err)
	}
	for {
		content, err := r.Read()
		if err != nil {
			t.Fatal(err)
		}
		if m, err := dapwire.Parse(content); err == nil && m.Type == dapwire.TypeResponse {
			return m
		}
	}
}

// TestServe: a server for one takes one client, and ends with its session: when the client
// disconnects, is gone, or a signal comes.
func TestServe(t *testing.T) {
	ends := map[string]func(net.Conn, *dapwire.Reader, chan os.Signal){
		"disconnect": func(conn net.Conn, r *dapwire.Reader, _ chan os.Signal) {
			if answer := request(t, conn, r, "disconnect", nil); !answer.Success {
				t.Errorf("%s", answer.Bytes())
			}
		},
		"gone":   func(conn net.Conn, _ *dapwire.Reader, _ chan os.Signal) { _ = conn.Close() },
		"signal": func(_ net.Conn, _ *dapwire.Reader, interrupted chan os.Signal) { interrupted <- os.Interrupt },
	}
	for name, end := range ends {
		client, ours := net.Pipe()
		_ = client.SetDeadline(time.Now().Add(time.Minute))
		interrupted, ended := make(chan os.Signal, 1), make(chan error, 1)
		go func() { ended <- serve(Config{}, ours, interrupted) }()
		r := dapwire.NewReader(client, 0)
		answer := request(t, client, r, "initialize", map[string]any{"adapterID": "go"})
		var body map[string]any
		if err := answer.Decode("body", &body); err != nil || !answer.Success || body["supportsClew"] != true || body["supportsConfigurationDoneRequest"] != true {
			t.Errorf("%s", answer.Bytes())
		}
		end(client, r, interrupted)
		closed := make(chan error, 1)
		go func() { // what comes must be read, or the session waits
			for {
				if _, err := r.Read(); err != nil {
					closed <- err
					return
				}
			}
		}()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: the session does not end", name)
		}
		if err := <-closed; !errors.Is(err, io.EOF) && name != "gone" {
			t.Errorf("%s: the client sees %v", name, err)
		}
		_ = client.Close()
	}
}

// TestAcceptInterrupted: a signal ends the wait for a client.
func TestAcceptInterrupted(t *testing.T) {
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	interrupted := make(chan os.Signal, 1)
	interrupted <- os.Interrupt
	if conn, err := (&Server{Listener: l}).accept(interrupted); conn != nil || err != nil {
		t.Errorf("%v, %v", conn, err)
	}
	if _, err := Dial(context.Background(), l.Addr().String()); err == nil {
		t.Error("it still takes clients")
	}
}
