package terminal

import (
	"net"
	"testing"
	"time"

	common "github.com/clewdbg/clew/server/session"
)

// TestJoinedEnds: the connections of clients that have joined end with the session, not with the process: Delve takes
// half a second longer.
func TestJoinedEnds(t *testing.T) {
	j := &Joined{server: new(server), owner: common.New(common.Options{})}
	client, ours := net.Pipe()
	served := make(chan struct{})
	go func() {
		j.Serve(ours)
		close(served)
	}()
	for !j.some.Load() {
		time.Sleep(time.Millisecond)
	}
	for n := 0; n == 0; time.Sleep(time.Millisecond) {
		j.rpc.mu.Lock()
		n = len(j.rpc.open)
		j.rpc.mu.Unlock()
	}
	j.End()
	_ = client.SetReadDeadline(time.Now().Add(time.Minute))
	if n, err := client.Read(make([]byte, 1)); err == nil {
		t.Errorf("the client gets %d bytes", n)
	}
	select {
	case <-served:
	case <-time.After(time.Minute):
		t.Error("the connection does not end")
	}
}
