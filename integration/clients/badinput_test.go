package main

import (
	"errors"
	"fmt"
	"net/rpc"
	"strings"
	"testing"
	"time"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"
)

// everyKind starts a session on each kind of server.
var everyKind = []struct {
	name    string
	start   func(*testing.T) *started
	editors bool // an editor can join
}{{"headless", start, true}, {"multi", startBeside, false}, {"proxy", startThrough, true}}

// TestDisconnect: an editor leaves while another client runs the program, or takes it along. In its own
// session it always does, for Delve kills what it has launched (TestBesideEnds).
func TestDisconnect(t *testing.T) {
	for _, kind := range everyKind {
		for _, by := range []string{editors, terminals} {
			for _, terminate := range []bool{false, true} {
				if !kind.editors {
					continue
				}
				t.Run(fmt.Sprintf("%s, %s runs, terminate %v", kind.name, by, terminate), func(t *testing.T) {
					s := kind.start(t)
					pid := s.pid()
					s.runBy(by)
					_, err := s.editors[1].must("disconnect", map[string]any{"terminateDebuggee": terminate})
					s.must(err)
					if terminate {
						s.event(s.editors[0], "terminated")
						if !gone(pid) {
							t.Errorf("process %d is left", pid)
						}
						return
					}
					s.halts()
				})
			}
		}
	}
}

// TestDetach: a dlv ends the session of all. Delve kills a program that it has launched, even if it is not asked to.
func TestDetach(t *testing.T) {
	for _, kind := range everyKind {
		for _, kill := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, kill %v", kind.name, kill), func(t *testing.T) {
				s := kind.start(t)
				pid := s.pid()
				s.terminals[1].start(api.Continue)
				s.event(s.editors[0], "continued")
				s.must(s.terminals[0].call("Detach", rpc2.DetachIn{Kill: kill}, new(rpc2.DetachOut)))
				for _, e := range s.editors {
					s.event(e, "terminated")
				}
				s.connectionEnds()
				if !gone(pid) {
					t.Errorf("process %d is left", pid)
				}
			})
		}
	}
}

// vanishing are requests in the middle of which a client vanishes: what it reads, changes, runs, steps, restarts.
var vanishing = map[string][]func(s *started) error{
	editors: {
		editorSends("stackTrace", nil),
		editorSends("evaluate", map[string]any{"expression": "call main.add(1)"}),
		editorSends("setBreakpoints", nil),
		editorSends("continue", nil),
		editorSends("next", nil),
		editorSends("restart", map[string]any{"arguments": map[string]any{"request": "launch", "rebuild": false}}),
		editorSends("disconnect", map[string]any{"terminateDebuggee": false}),
	},
	terminals: {
		terminalSends("Stacktrace", rpc2.StacktraceIn{Id: -1, Depth: 50, Full: true}),
		terminalSends("Command", api.DebuggerCommand{Name: api.Call, Expr: "main.add(1)"}),
		terminalSends("CreateBreakpoint", rpc2.CreateBreakpointIn{Breakpoint: api.Breakpoint{FunctionName: "main.main", Line: -1, Cond: "false"}}),
		terminalSends("Command", api.DebuggerCommand{Name: api.Continue}),
		terminalSends("Command", api.DebuggerCommand{Name: api.Next}),
		terminalSends("Command", api.DebuggerCommand{Name: api.Halt}),
		terminalSends("GetEvents", rpc2.GetEventsIn{}),
		terminalSends("Restart", rpc2.RestartIn{}),
	},
}

// editorSends has one more editor send a request, and vanish.
func editorSends(command string, arguments map[string]any) func(s *started) error {
	return func(s *started) error {
		e, err := newEditor("editor that vanishes", s.server.addr)
		if err != nil {
			return err
		}
		defer e.client.Close()
		if err := e.attach(); err != nil {
			return err
		}
		all := map[string]any{"threadId": e.threadID(), "source": map[string]any{"path": s.path}, "breakpoints": []any{}}
		for key, value := range arguments {
			all[key] = value
		}
		_, err = e.send(command, all)
		return err
	}
}

// terminalSends has one more client of JSON-RPC send a request, and vanish.
func terminalSends(method string, arg any) func(s *started) error {
	return func(s *started) error {
		d, err := newTerminal("dlv that vanishes", s.server.addr)
		if err != nil {
			return err
		}
		defer d.client.Close()
		if _, err := d.running(); err != nil {
			return err
		}
		d.client.Go("RPCServer."+method, arg, new(any), nil)
		return nil
	}
}

// TestVanish: a client is gone in the middle of its request; the others halt the program and go on.
func TestVanish(t *testing.T) {
	for _, kind := range everyKind {
		t.Run(kind.name, func(t *testing.T) {
			s := kind.start(t)
			for by, requests := range vanishing {
				if by == editors && !kind.editors {
					continue // its end is the session's: TestBesideEnds
				}
				for n, vanish := range requests {
					s.must(vanish(s))
					time.Sleep(20 * time.Millisecond)
					if err := s.goOn(); err != nil {
						t.Fatalf("%s, request %d: %v", by, n+1, err)
					}
				}
			}
		})
	}
}

// goOn has the clients that are left halt, run and step the program.
func (s *started) goOn() error {
	end := time.Now().Add(patience)
	for quiet := 0; quiet < 3; time.Sleep(10 * time.Millisecond) { // the request of the client that is gone may be under way
		quiet++
		if running, err := s.terminals[1].running(); err != nil {
			return err
		} else if running {
			quiet = 0
			_, _ = s.terminals[1].command(api.Halt) // which a restart refuses
		}
		if time.Now().After(end) {
			return errors.New("the program runs on")
		}
	}
	s.settle()
	if err := s.runTo(s.editors...); err != nil {
		return err
	}
	last := s.editors[len(s.editors)-1]
	if _, err := last.must("next", map[string]any{"threadId": last.threadID()}); err != nil {
		return err
	}
	_, err := last.event("stopped")
	return err
}

// TestVanishRunning: a client that has resumed the program is gone; others halt it and go on.
func TestVanishRunning(t *testing.T) {
	for _, kind := range everyKind {
		for _, by := range []string{editors, terminals} {
			if by == editors && !kind.editors {
				continue
			}
			t.Run(kind.name+"/"+by, func(t *testing.T) {
				s := kind.start(t)
				last := s.editors[len(s.editors)-1]
				if by == editors {
					s.runBy(by)
					_ = s.editors[0].client.Close()
				} else {
					s.terminals[0].start(api.Continue)
					s.event(last, "continued")
					_ = s.terminals[0].client.Close()
				}
				time.Sleep(20 * time.Millisecond)
				s.halts()
				s.event(last, "stopped")
				s.terminals[0], s.editors = s.terminals[1], []*editor{last}
				s.must(s.goOn())
			})
		}
	}
}

// TestTwoResumes: of clients that resume at once, one does.
func TestTwoResumes(t *testing.T) {
	for _, kind := range everyKind {
		t.Run(kind.name, func(t *testing.T) {
			s := kind.start(t)
			for range 5 {
				s.settle()
				s.resumeAtOnce()
				s.halts()
				for _, e := range s.editors {
					if _, err := e.event("stopped"); err != nil { // or it would be taken for one of the next round
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// resumeAtOnce has every client resume the program at once. All but one are refused, by the name of that one.
func (s *started) resumeAtOnce() {
	s.t.Helper()
	refusals := make(chan string, len(s.editors)+len(s.terminals))
	for _, e := range s.editors {
		answer, err := e.send("continue", map[string]any{"threadId": 1})
		s.must(err)
		go func() {
			if m := <-answer; !m.Success {
				refusals <- string(m.Bytes())
			}
		}()
	}
	var calls []*rpc.Call
	for _, d := range s.terminals {
		calls = append(calls, d.start(api.Continue))
	}
	for _, call := range calls {
		go func() {
			if <-call.Done; call.Error != nil {
				refusals <- call.Error.Error()
			}
		}()
	}
	for range cap(refusals) - 1 {
		select {
		case text := <-refusals:
			if !strings.Contains(text, "has resumed it") {
				s.t.Errorf("a resume is refused by %s", text)
			}
		case <-time.After(patience):
			s.t.Fatal("two have resumed the program, or hang")
		}
	}
	select {
	case text := <-refusals:
		s.t.Errorf("none has resumed the program: %s", text)
	case <-time.After(10 * time.Millisecond):
	}
}

// TestNeverReads: clients that read nothing do not delay the others.
func TestNeverReads(t *testing.T) {
	for _, kind := range everyKind {
		t.Run(kind.name, func(t *testing.T) {
			s := kind.start(t)
			if kind.editors {
				mute, err := newMute(s.server.addr)
				s.must(err)
				defer mute.Close()
			}
			mute, err := newMuteTerminal(s.server.addr)
			s.must(err)
			defer mute.Close()
			for range 20 {
				_, err := s.editors[0].must("next", map[string]any{"threadId": s.editors[0].threadID()})
				s.must(err)
				s.event(s.editors[0], "stopped")
			}
		})
	}
}

// TestPauseAsItStops: pauses and halts come as the program stops by itself, at a breakpoint that it reaches at once. Each time
// it stands then, and everyone can read it.
func TestPauseAsItStops(t *testing.T) {
	for _, kind := range everyKind {
		t.Run(kind.name, func(t *testing.T) {
			s := kind.start(t)
			first, last := s.editors[0], s.editors[len(s.editors)-1]
			_, err := last.must("setBreakpoints", breakpoints(s.path, s.at))
			s.must(err)
			for n := range 18 {
				s.settle()
				if n%2 == 0 {
					s.terminals[1].start(api.Continue)
					s.event(last, "continued")
				} else {
					_, err := first.must("continue", map[string]any{"threadId": first.threadID()})
					s.must(err)
				}
				time.Sleep(time.Duration(n) * 200 * time.Microsecond)
				if n%3 == 0 {
					_, err := s.terminals[0].command(api.Halt)
					s.must(err)
				} else {
					_, err := last.must("pause", map[string]any{"threadId": 1})
					s.must(err)
				}
				for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
					running, err := s.terminals[0].running()
					s.must(err)
					if !running {
						break
					}
					if time.Now().After(end) {
						t.Fatalf("try %d: the program runs on", n+1)
					}
				}
				for _, e := range s.editors {
					_, err := e.must("stackTrace", map[string]any{"threadId": e.threadID()})
					s.must(err)
				}
			}
		})
	}
}
