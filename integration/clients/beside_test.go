package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"
)

// TestBeside: clients of JSON-RPC that have joined an editor's session see all that it does, and it all that they do.
func TestBeside(t *testing.T) { startBeside(t).rounds() }

// TestBesideEnds: the session's end reaches everyone, whoever ends it and has resumed the program, and the program
// ends with it; other sessions of the server go on.
func TestBesideEnds(t *testing.T) {
	ends := map[string]func(s *started) error{
		"disconnect": func(s *started) error {
			_, err := s.editors[0].must("disconnect", map[string]any{"terminateDebuggee": true})
			return err
		},
		"vanish": func(s *started) error { return s.editors[0].client.Close() },
		"detach": func(s *started) error {
			err := s.terminals[0].call("Detach", rpc2.DetachIn{Kill: true}, new(rpc2.DetachOut))
			s.event(s.editors[0], "terminated")
			return err
		},
		"SIGTERM": func(s *started) error {
			err := s.server.terminate()
			s.event(s.editors[0], "terminated")
			return err
		},
	}
	for name, end := range ends {
		for _, by := range []string{"", editors, terminals} {
			t.Run(fmt.Sprintf("%s, running by %q", name, by), func(t *testing.T) {
				s := startBeside(t)
				pid := s.pid()
				switch by {
				case editors:
					_, err := s.editors[0].must("continue", map[string]any{"threadId": s.editors[0].threadID()})
					s.must(err)
				case terminals:
					s.terminals[1].start(api.Continue)
					s.event(s.editors[0], "continued")
				}
				s.must(end(s))
				if !gone(pid) {
					t.Errorf("process %d is left", pid)
				}
				s.connectionEnds()
			})
		}
	}
}

// connectionEnds sees that a client that listens learns of the session's end.
func (s *started) connectionEnds() {
	s.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case _, open := <-s.terminals[1].events:
			if !open {
				return
			}
		case <-deadline:
			s.t.Fatal("the connection of dlv does not end")
		}
	}
}

// TestBesideRestart: a restart by dlv reaches the editor, and the end of clew takes the new program along.
func TestBesideRestart(t *testing.T) {
	s := startBeside(t)
	before := s.pid()
	s.must(s.terminals[1].call("Restart", rpc2.RestartIn{}, new(rpc2.RestartOut)))
	for !strings.Contains(string(s.event(s.editors[0], "stopped").Bytes()), `"entry"`) {
	}
	now := s.pid()
	if now == before || !gone(before) {
		t.Errorf("process %d, and now %d", before, now)
	}
	s.must(s.warmUp())
	_, err := s.editors[0].must("disconnect", map[string]any{"terminateDebuggee": true})
	s.must(err)
	if !gone(now) {
		t.Errorf("process %d is left", now)
	}
}
