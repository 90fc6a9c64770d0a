package pluginhost

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestSurroundings: the host's standard input and environment are not the
// plugin's, and Ctrl-C is not for it.
func TestSurroundings(t *testing.T) {
	t.Setenv("CLEW_TEST_SECRET", "token")
	_, p, _ := newHost(t, nil)
	if err := syscall.Kill(pidOrStart(t, p), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	results, err := p.Walk(context.Background(), order(pcReport))
	if err != nil {
		t.Fatal(err)
	}
	got := results[0].Reason
	for _, want := range []string{`stdin="",<nil>`, " wd=/ "} {
		if !strings.Contains(got, want) {
			t.Errorf("the plugin sees %s; want %s", got, want)
		}
	}
	if strings.Contains(got, "CLEW_TEST_SECRET") || strings.Contains(got, "HOME=") {
		t.Errorf("the plugin has the host's environment: %s", got)
	}
	if p.health().Restarts != 0 {
		t.Error("an interrupt ended the plugin")
	}
}

// TestStolenExitStatus: somebody else in the process waits for any child, as
// Delve's native back end does.
func TestStolenExitStatus(t *testing.T) {
	_, p, _ := newHost(t, nil)
	victim := pidOrStart(t, p)
	stolen := make(chan error, 1)
	go func() {
		_, err := syscall.Wait4(victim, nil, 0, nil)
		stolen <- err
	}()
	killPlugin(t, p)
	checkWalk(t, p, 5)
	err := <-stolen
	status := p.health().LastError
	if err == nil && !strings.Contains(status, "exit status unknown") {
		t.Errorf("the status was stolen, the host says %q", status)
	}
	if err != nil && !strings.Contains(status, "signal: killed") {
		t.Errorf("the status was not stolen (%v), the host says %q", err, status)
	}
}

// TestLog: a plugin's last output is in the log.
func TestLog(t *testing.T) {
	var out lockedBuffer
	_, p, _ := newHost(t, func(o *Options) {
		o.Logger = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	_, _ = p.Walk(context.Background(), order(pcPanicOnce))
	deadline := time.Now().Add(5 * time.Second)
	for !strings.Contains(out.String(), "walked into a wall for the first time") {
		if time.Now().After(deadline) {
			t.Fatalf("not in the log: %s", out.String())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
