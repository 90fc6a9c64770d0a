package peer

import (
	"net"
	"os"
	"strconv"
	"testing"
)

// TestTable finds one end of a connection in tables as the kernel writes them.
func TestTable(t *testing.T) {
	const table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
		"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0\n" +
		"   1: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1001        0 4712 1 0\n" +
		"   2: 0100007F:D431 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  x        0 4713 1 0\n" +
		"   3: short\n"
	for _, c := range []struct {
		local, remote string
		want          entry
		ok            bool
	}{
		{"0100007F:1F90", "0100007F:D431", entry{1001, "4712"}, true},
		{"0100007F:D431", "0100007F:1F90", entry{0, "4713"}, false}, // no number of a user
		{"0100007F:D431", "0100007F:1F91", entry{}, false},
	} {
		if got, ok := find([]byte(table), c.local, c.remote); ok != c.ok || ok && got != c.want {
			t.Errorf("%s %s: %+v, %v", c.local, c.remote, got, ok)
		}
	}
}

// TestTableAddr writes addresses as the kernel does.
func TestTableAddr(t *testing.T) {
	for _, c := range []struct {
		ip   string
		size int
		want string
	}{
		{"127.0.0.1", net.IPv4len, "0100007F:1F90"},
		{"127.0.0.1", net.IPv6len, "0000000000000000FFFF00000100007F:1F90"},
		{"::1", net.IPv6len, "00000000000000000000000001000000:1F90"},
		{"::1", net.IPv4len, ""},
	} {
		if got, ok := tableAddr(&net.TCPAddr{IP: net.ParseIP(c.ip), Port: 8080}, c.size); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %v", c.ip, got, ok)
		}
	}
}

// TestHolds: a process has the socket of its own end of a connection open, and no
// other.
func TestHolds(t *testing.T) {
	client, _ := connected(t, "tcp", "127.0.0.1:0")
	e, err := other(client.(*net.TCPConn))
	if err != nil || !holds(os.Getpid(), "socket:["+e.inode+"]") {
		t.Errorf("%+v, %v: this process has both ends", e, err)
	}
	if holds(os.Getpid(), "socket:[0]") || holds(1<<30, "socket:["+e.inode+"]") {
		t.Error("a socket that is not open")
	}
}

// TestProcesses: the threads of a process are its own, and no other process is.
func TestProcesses(t *testing.T) {
	self := os.Getpid()
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil || len(entries) == 0 {
		t.Fatalf("%v, %v", entries, err)
	}
	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err != nil || !sameProcess(id, self) {
			t.Errorf("thread %s is of another process: %v", e.Name(), err)
		}
	}
	if sameProcess(self, os.Getppid()) || sameProcess(self, 1<<30) {
		t.Error("two processes are one")
	}
}
