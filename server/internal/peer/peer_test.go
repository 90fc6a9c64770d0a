package peer

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// connected returns both ends of a connection.
func connected(t *testing.T, network, addr string) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, _ := l.Accept()
		accepted <- c
	}()
	if client, err = net.Dial(network, l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server = <-accepted; server == nil {
		t.Fatal("no connection")
	}
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	return client, server
}

// TestUnix: the user at the other end is this one.
func TestUnix(t *testing.T) {
	client, server := connected(t, "unix", filepath.Join(t.TempDir(), "s"))
	for _, c := range []net.Conn{client, server} {
		if uid, err := Unix(c.(*net.UnixConn)); err != nil || uid != os.Getuid() {
			t.Errorf("user %d, %v", uid, err)
		}
	}
	_ = client.Close()
	if _, err := Unix(client.(*net.UnixConn)); err == nil {
		t.Error("a closed connection has a user")
	}
}

// TestTCP: the user at the other end is this one, where the system tells.
func TestTCP(t *testing.T) {
	client, server := connected(t, "tcp", "127.0.0.1:0")
	for _, c := range []net.Conn{client, server} {
		if uid, known, err := TCP(c.(*net.TCPConn)); known && (err != nil || uid != os.Getuid()) {
			t.Errorf("user %d, %v", uid, err)
		}
	}
}

// TestTracesNothing: a process that is not traced is traced by nothing at the other
// end, whatever connection it is.
func TestTracesNothing(t *testing.T) {
	tcp, _ := connected(t, "tcp", "127.0.0.1:0")
	unix, _ := connected(t, "unix", filepath.Join(t.TempDir(), "s"))
	pipe, _ := net.Pipe()
	for _, c := range []net.Conn{tcp, unix, pipe} {
		for _, pid := range []int{os.Getpid(), 1, 1 << 30} {
			if Traces(c, pid) {
				t.Errorf("%T traces %d", c, pid)
			}
		}
	}
}
