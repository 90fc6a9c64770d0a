package peer

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clewdbg/clew/internal/testneed"
)

// ends are the addresses of a connection's own end.
func ends(c net.Conn) (local, remote *net.TCPAddr) {
	return c.LocalAddr().(*net.TCPAddr), c.RemoteAddr().(*net.TCPAddr)
}

// answers leaves a test out where this kernel does not answer questions about sockets: no fault of clew's, which reads tables
// then.
func answers(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if local, remote := ends(c); local != nil {
		if _, err := ask(unmapped(local), unmapped(remote)); err != nil {
			testneed.LeaveOut(t, "sock_diag(7): %v", err)
		}
	}
}

// TestAsk: the kernel says the same as its tables, for both ends, of IPv4, of IPv6, and of both at once, where the
// table of IPv6 has the end of IPv4.
func TestAsk(t *testing.T) {
	answers(t)
	for _, c := range []struct{ network, listen, dial string }{
		{"tcp4", "127.0.0.1:0", "tcp4"}, {"tcp6", "[::1]:0", "tcp6"}, {"tcp", "[::]:0", "tcp4"},
	} {
		l, err := net.Listen(c.network, c.listen)
		if err != nil {
			t.Logf("%+v: %v", c, err) // no IPv6
			continue
		}
		accepted := make(chan net.Conn, 1)
		go func() {
			conn, _ := l.Accept()
			accepted <- conn
		}()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		host := map[string]string{"tcp4": "127.0.0.1", "tcp6": "::1"}[c.dial]
		client, err := net.Dial(c.dial, net.JoinHostPort(host, port))
		if err != nil {
			t.Fatal(err)
		}
		server := <-accepted
		for _, conn := range []net.Conn{client, server} {
			local, remote := ends(conn)
			told, err := ask(unmapped(remote), unmapped(local))
			listed, err2 := lookUp(local, remote)
			if err != nil || err2 != nil || told != listed || told.uid != os.Getuid() || told.inode == "0" {
				t.Errorf("%+v: %+v, %v; in the table %+v, %v", c, told, err, listed, err2)
			}
		}
		_, _, _ = client.Close(), server.Close(), l.Close()
	}
}

// TestAskOtherUser: another user's end is another user's, by both ways. Only root can be another one.
func TestAskOtherUser(t *testing.T) {
	answers(t)
	if os.Getuid() != 0 {
		testneed.LeaveOut(t, "only root can be another user")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const nobody = 65534
	runtime.LockOSThread() // of this thread only: the user that the kernel gives a new socket (setfsuid(2))
	defer runtime.UnlockOSThread()
	if err := unix.Setfsuid(nobody); err != nil {
		t.Fatal(err)
	}
	client, err := net.DialTCP("tcp", nil, l.Addr().(*net.TCPAddr))
	if back := unix.Setfsuid(0); back != nil || err != nil {
		t.Fatal(back, err)
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	local, remote := ends(server)
	told, err := ask(unmapped(remote), unmapped(local))
	listed, err2 := lookUp(local, remote)
	if err != nil || err2 != nil || told != listed || told.uid != nobody {
		t.Errorf("%+v, %v; in the table %+v, %v", told, err, listed, err2)
	}
}

// TestAskNobody: a connection that is not there is not found, even where another socket listens at its port, and one that
// was ended at once costs no look at the tables.
func TestAskNobody(t *testing.T) {
	answers(t)
	client, server := connected(t, "tcp", "127.0.0.1:0")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at, _ := ends(client)
	if e, err := ask(unmapped(l.Addr().(*net.TCPAddr)), unmapped(at)); !errors.Is(err, unix.ENOENT) {
		t.Errorf("who listens is taken for a client: %+v, %v", e, err)
	}
	if isOver(server.(*net.TCPConn)) {
		t.Error("a connection that is there is over")
	}
	if err := client.(*net.TCPConn).SetLinger(0); err != nil {
		t.Fatal(err)
	}
	_ = client.Close()
	for end := time.Now().Add(10 * time.Second); !isOver(server.(*net.TCPConn)) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if e, err := other(server.(*net.TCPConn)); !errors.Is(err, errNoConnection) || !isOver(server.(*net.TCPConn)) {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestAnswered: answers that are cut off, of another kind or an error.
func TestAnswered(t *testing.T) {
	local, remote := netip.MustParseAddrPort("127.0.0.1:1"), netip.MustParseAddrPort("127.0.0.1:2")
	header := func(kind uint16, more ...byte) []byte {
		m := binary.NativeEndian.AppendUint32(nil, uint32(16+len(more)))
		m = binary.NativeEndian.AppendUint16(m, kind)
		return append(append(m, make([]byte, 10)...), more...)
	}
	good := header(unix.SOCK_DIAG_BY_FAMILY, make([]byte, 72)...)
	good[16] = unix.AF_INET
	copy(good[20:], []byte{0, 1, 0, 2, 127, 0, 0, 1})
	copy(good[40:], []byte{127, 0, 0, 1})
	binary.NativeEndian.PutUint32(good[80:], 1000)
	binary.NativeEndian.PutUint32(good[84:], 4711)
	if e, err := answered(good, local, remote); err != nil || e != (entry{1000, "4711"}) {
		t.Errorf("%+v, %v", e, err)
	}
	refused := binary.NativeEndian.AppendUint32(nil, ^uint32(unix.EPERM)+1)
	for name, c := range map[string]struct {
		answer []byte
		want   error
	}{
		"empty": {nil, errNoAnswer}, "cut off": {good[:80], errNoAnswer}, "another kind": {header(3, make([]byte, 72)...), errNoAnswer},
		"refused": {header(unix.NLMSG_ERROR, refused...), unix.EPERM}, "another connection": {good, unix.ENOENT},
	} {
		to := remote
		if name == "another connection" {
			to = netip.MustParseAddrPort("127.0.0.1:3")
		}
		if e, err := answered(c.answer, local, to); !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}

// BenchmarkOther is what the other end of a connection costs among a thousand, asked for and in the kernel's tables.
func BenchmarkOther(b *testing.B) {
	answers(b)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	var server net.Conn
	for range 1000 {
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		defer client.Close()
		if server, err = l.Accept(); err != nil {
			b.Fatal(err)
		}
		defer server.Close()
	}
	local, remote := ends(server)
	for name, find := range map[string]func() (entry, error){
		"asked":  func() (entry, error) { return ask(unmapped(remote), unmapped(local)) },
		"tables": func() (entry, error) { return lookUp(local, remote) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := find(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
