package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/internal/testneed"
)

var built *work

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if built, err = build(os.Getenv("CLEW_UNDER_TEST")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer built.remove()
		return m.Run()
	}())
}

// started is a session with its clients.
type started struct {
	*party
	server *server
	t      *testing.T
}

func start(t *testing.T) *started {
	t.Helper()
	return startBy(t, (*work).headless, (*work).join)
}

// startBeside starts an editor's session, which clients of JSON-RPC join.
func startBeside(t *testing.T) *started {
	t.Helper()
	return startBy(t, (*work).multi, (*work).beside)
}

func startBy(t *testing.T, serve func(*work) (*server, error), join func(*work, string, *results) (*party, error)) *started {
	t.Helper()
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	s, err := serve(built)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.terminate() })
	r := new(results)
	p, err := join(built, s.addr, r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.leave()
		for _, text := range r.wrong {
			t.Error(text)
		}
	})
	p.settle()
	return &started{p, s, t}
}

func (s *started) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *started) event(e *editor, name string) received {
	s.t.Helper()
	m, err := e.event(name)
	s.must(err)
	return m
}

// pid is the program's.
func (s *started) pid() int {
	s.t.Helper()
	var out rpc2.ProcessPidOut
	s.must(s.terminals[0].call("ProcessPid", rpc2.ProcessPidIn{}, &out))
	return out.Pid
}

// gone says that a process has ended.
func gone(pid int) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return true
		}
	}
	return false
}

// runBy has a client resume the program.
func (s *started) runBy(kind string) {
	s.t.Helper()
	if kind == editors {
		_, err := s.editors[0].must("continue", map[string]any{"threadId": s.editors[0].threadID()})
		s.must(err)
	} else {
		s.terminals[0].start(api.Continue)
	}
	s.event(s.editors[1], "continued")
}

// TestEveryPair: what each client does, every other one learns.
func TestEveryPair(t *testing.T) { start(t).rounds() }

// rounds has every client do everything, and checks that the others learn it in time.
func (s *started) rounds() {
	s.t.Helper()
	for range 3 {
		s.must(s.round())
	}
	for p, all := range s.results.times {
		if slices.Min(all) > testneed.Patience(limit) {
			s.t.Errorf("%+v takes %v", p, all)
		}
	}
}

// TestTerminated: a signal ends server and program, whoever has resumed it.
func TestTerminated(t *testing.T) {
	for _, by := range []string{"", editors, terminals} {
		t.Run("running by "+by, func(t *testing.T) {
			s := start(t)
			pid := s.pid()
			if by != "" {
				s.runBy(by)
			}
			s.must(s.server.terminate())
			s.event(s.editors[1], "terminated")
			if !gone(pid) {
				t.Errorf("process %d is left", pid)
			}
		})
	}
}

// halts halts the program by a client that is left, and sees that it stands.
func (s *started) halts() {
	s.t.Helper()
	state, err := s.terminals[1].command(api.Halt)
	s.must(err)
	if state.Running || state.CurrentThread == nil {
		s.t.Errorf("after a halt: %+v", state)
	}
}

// TestRestarts: a restart by one client reaches the others, who can step the new program.
func TestRestarts(t *testing.T) {
	for _, by := range []string{editors, terminals} {
		t.Run(by, func(t *testing.T) {
			s := start(t)
			before := s.pid()
			s.runBy(terminals)
			s.settle()
			if by == terminals {
				s.must(s.terminals[1].call("Restart", rpc2.RestartIn{}, new(rpc2.RestartOut)))
			} else {
				_, err := s.editors[0].must("restart", map[string]any{"arguments": map[string]any{"request": "launch", "rebuild": false}})
				s.must(err)
				s.event(s.editors[0], "initialized")
			}
			for {
				m := s.event(s.editors[1], "stopped")
				if strings.Contains(string(m.Bytes()), `"entry"`) {
					break
				}
			}
			if now := s.pid(); now == before || !gone(before) {
				t.Errorf("process %d, and now %d", before, now)
			}
			s.must(s.warmUp())
		})
	}
}

// TestRestartRuns: a restart's own arguments say whether the program runs on when its editor has configured it, and
// the others learn it.
func TestRestartRuns(t *testing.T) {
	s := start(t)
	_, err := s.editors[0].must("restart", map[string]any{"arguments": map[string]any{"request": "launch", "rebuild": false}})
	s.must(err)
	s.event(s.editors[0], "initialized")
	s.settle()
	_, err = s.editors[0].must("configurationDone", nil)
	s.must(err)
	s.event(s.editors[1], "continued")
	_, err = s.terminals[0].command(api.Halt)
	s.must(err)
	s.event(s.editors[1], "stopped")
}

// TestOwnBreakpoints: each client's breakpoints stay when another one sets its own in the same file.
func TestOwnBreakpoints(t *testing.T) {
	s := start(t)
	a, b := s.editors[0], s.editors[1]
	set := func(e *editor, lines ...int) {
		t.Helper()
		m, err := e.must("setBreakpoints", breakpoints(s.path, lines...))
		s.must(err)
		if verified(m) != len(lines) {
			t.Errorf("%s", m.Bytes())
		}
	}
	var made rpc2.CreateBreakpointOut
	s.must(s.terminals[0].call("CreateBreakpoint", rpc2.CreateBreakpointIn{Breakpoint: api.Breakpoint{FunctionName: "main.main", Line: -1, Cond: "false"}}, &made))
	expect := func(lines ...int) {
		t.Helper()
		var out rpc2.ListBreakpointsOut
		s.must(s.terminals[0].call("ListBreakpoints", rpc2.ListBreakpointsIn{}, &out))
		var got []int
		for _, bp := range out.Breakpoints {
			if bp.ID > 0 && bp.ID != made.Breakpoint.ID {
				got = append(got, bp.Line)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, lines) {
			t.Errorf("Delve has breakpoints at %v, not %v", got, lines)
		}
	}
	set(a, s.at)
	set(b, s.at, s.other)
	expect(s.at, s.other)
	set(a)
	expect(s.at, s.other)
	set(b, s.other)
	expect(s.other)
	set(b)
	expect()
}

// TestReadAtOnce: whoever is told of a stop can read the program at once.
func TestReadAtOnce(t *testing.T) {
	for name, start := range map[string]func(*testing.T) *started{"headless": start, "proxy": startThrough} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			a, b := s.editors[0], s.editors[1]
			for n := range 24 {
				s.settle()
				_, err := a.must("continue", map[string]any{"threadId": a.threadID()})
				s.must(err)
				s.event(b, "continued")
				time.Sleep(2 * time.Millisecond)
				answer, err := []*editor{a, b}[n%2].send("pause", map[string]any{"threadId": 1})
				s.must(err)
				s.event(b, "stopped")
				running, err := s.terminals[0].running()
				s.must(err)
				if running {
					t.Errorf("run %d: dlv is told that the program runs", n+1)
				}
				if _, err := b.must("stackTrace", map[string]any{"threadId": b.threadID()}); err != nil {
					t.Errorf("run %d: %v", n+1, err)
				}
				<-answer
			}
		})
	}
}
