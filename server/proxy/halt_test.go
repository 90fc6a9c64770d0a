package proxy_test

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/clewdbg/clew/server/dapwire"
)

// TestHaltBesides: a server that reads nothing more from the client that has resumed the program, as Delve's does while a thread steps over a system
// call, is halted by another connection.
func TestHaltBesides(t *testing.T) {
	halted := make(chan struct{})
	resumes := answering(map[string]func(net.Conn, *dapwire.Message){"continue": func(conn net.Conn, m *dapwire.Message) {
		answer, err := dapwire.NewResponse(m, map[string]any{})
		if err != nil || dapwire.Write(conn, answer.Bytes()) != nil {
			return
		}
		<-halted // and reads nothing meanwhile
		_ = dapwire.Write(conn, []byte(`{"seq":9,"type":"event","event":"stopped","body":{"reason":"pause","threadId":1,"allThreadsStopped":true}}`))
	}})
	s := upstream(t, func(conn net.Conn, r *bufio.Reader) {
		if first, _ := r.Peek(1); first[0] == 'C' {
			resumes(conn, r)
			return
		}
		if request, err := r.ReadString('\n'); err == nil && strings.Contains(request, `"RPCServer.Command"`) && strings.Contains(request, `"halt"`) {
			close(halted)
		}
		_, _ = io.Copy(io.Discard, r)
	})
	addr, stop, wait := run(t, s)
	c := dial(t, addr)
	c.request(1, "continue")
	if m := c.read(); m == nil || !m.Success {
		t.Fatalf("%v", m)
	}
	c.request(2, "pause")
	for {
		m := c.read()
		if m == nil {
			t.Fatal("the session ends")
		}
		if m.Event == "stopped" {
			break
		}
	}
	stop()
	_ = wait()
}
