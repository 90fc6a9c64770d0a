package terminal

import (
	"encoding/json"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-delve/delve/service"
)

// TestFlood: a client that asks and never reads has as many requests under way as it may, and no more; it waits with the next.
func TestFlood(t *testing.T) {
	ours, theirs := net.Pipe()
	started := make(chan struct{}, 2*maxUnder)
	c := newRPCConn(theirs, map[string]any{"State": func(_ json.RawMessage, answer service.RPCCallback) {
		started <- struct{}{}
		answer.Return("state", nil)
	}})
	done := make(chan struct{})
	before := runtime.NumGoroutine()
	go func() {
		defer close(done)
		c.answer()
		c.calls.Wait()
	}()
	request := `{"method":"RPCServer.State","params":[{}],"id":1}`
	sent := 0
	for _ = ours.SetWriteDeadline(time.Now().Add(2 * time.Second)); sent < 2*maxUnder; sent++ {
		if _, err := io.WriteString(ours, request); err != nil {
			break
		}
	}
	if n := len(started); n != maxUnder || sent < maxUnder || sent > maxUnder+1000 {
		t.Errorf("%d of %d requests are under way, want %d", n, sent, maxUnder)
	}
	if n := runtime.NumGoroutine(); n > before+maxUnder+10 {
		t.Errorf("%d goroutines, before %d", n, before)
	}
	_ = ours.Close()
	<-done
}

// TestLongRequest: a request without an end ends its connection, at the limit.
func TestLongRequest(t *testing.T) {
	ours, theirs := net.Pipe()
	go func() {
		newRPCConn(theirs, nil).answer()
		_ = theirs.Close()
	}()
	piece := strings.Repeat("a", 1<<20)
	_, err := io.WriteString(ours, `{"method":"`)
	sent := 0
	for ; err == nil && sent <= 2*maxRequest; sent += len(piece) {
		_, err = io.WriteString(ours, piece)
	}
	if err == nil || sent < maxRequest-len(piece) {
		t.Errorf("%d bytes were taken: %v", sent, err)
	}
	_ = ours.Close()
}
