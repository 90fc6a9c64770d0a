package main

import (
	"testing"

	"github.com/go-delve/delve/service/rpc2"
)

// startThrough starts a session of Delve's own server, whose clients are connected to clew proxy.
func startThrough(t *testing.T) *started {
	t.Helper()
	return startBy(t, (*work).through, (*work).joinThrough)
}

// TestThrough: clients of clew proxy before Delve's own server see what the others do.
func TestThrough(t *testing.T) { startThrough(t).rounds() }

// TestThroughEnds: a restart and a detach by one client of the proxy reach the others.
func TestThroughEnds(t *testing.T) {
	s := startThrough(t)
	before := s.pid()
	s.must(s.terminals[0].call("Restart", rpc2.RestartIn{}, new(rpc2.RestartOut)))
	s.event(s.editors[1], "stopped")
	now := s.pid()
	if now == before || !gone(before) {
		t.Errorf("process %d, and now %d", before, now)
	}
	s.must(s.terminals[0].call("Detach", rpc2.DetachIn{Kill: true}, new(rpc2.DetachOut)))
	s.event(s.editors[0], "terminated")
	if !gone(now) {
		t.Errorf("process %d is left", now)
	}
}
