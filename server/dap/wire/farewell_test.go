package wire

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/clewdbg/clew/server/dapwire"
)

// TestLateWrite lets a session end while its client still has something to say: the client reads the
// end, and what it writes then is no error, which would kill an editor that does not ignore SIGPIPE.
func TestLateWrite(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	upstream, delve := net.Pipe()
	b := NewBridge(Options{Client: conn, Upstream: upstream, MaxMessage: dapwire.DefaultMaxContent, Log: t.Logf, Cancelled: errCancelled, AnswerHead: answerHead})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.Run(&session{t: t, bridge: b})
	}()
	_ = delve.Close()
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Fatalf("the client reads %v", err)
	}
	for range 3 {
		if _, err := client.Write([]byte("Content-Length: 2\r\n\r\n{}")); err != nil {
			t.Fatalf("a late write: %v (EPIPE: %v)", err, errors.Is(err, syscall.EPIPE))
		}
		time.Sleep(20 * time.Millisecond)
	}
	_ = client.Close()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the session does not end with its client")
	}
}
