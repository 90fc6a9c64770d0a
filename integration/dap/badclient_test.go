package dap

import (
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/dapwire/dapwiretest"
)

// TestWrongTypes: a request whose arguments have wrong types is answered with an
// error, or ends the session, as it does with dlv; then the program is killed. Other
// sessions of the server go on.
func TestWrongTypes(t *testing.T) {
	testneed.Ptrace(t)
	exe, _ := plain(t)
	s := start(t, binary("clew"), "--multi")
	for _, r := range []struct {
		command   string
		arguments any
	}{
		{"stackTrace", object{"threadId": "one"}},
		{"stackTrace", object{"threadId": 1e300}},
		{"scopes", object{"frameId": []int{1}}},
		{"variables", object{"variablesReference": 1.5}},
		{"evaluate", object{"expression": 1}},
		{"setBreakpoints", object{"source": 1}},
		{"continue", object{"threadId": "x"}},
		{"clew/stack", object{"threadId": "one"}},
		{"clew/stack", []int{1}},
		{"clew/export", "text"},
	} {
		c := s.dial()
		c.launch(object{"mode": "exec", "program": exe, "args": []string{"deep", "3"}})
		pid := 0
		for _, m := range c.all {
			if m.Event == "process" {
				pid = int(body(t, m)["systemProcessId"].(float64))
			}
		}
		seq := c.send(r.command, r.arguments)
		for {
			m := c.read()
			if m == nil {
				break
			}
			if m.Type == dapwire.TypeResponse && m.RequestSeq == seq {
				if m.Success {
					t.Errorf("%s %v: %s", r.command, r.arguments, m.Bytes())
				}
				c.ok("disconnect", object{"terminateDebuggee": true})
				break
			}
		}
		gone(t, pid)
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	if err := s.wait(); err != nil {
		t.Errorf("the server ends with %v", err)
	}
}

// TestKilledProgram: another process kills the program, while it stands still and while it
// runs.
func TestKilledProgram(t *testing.T) {
	exe, _ := plain(t)
	play(t, func(c *client) {
		c.initialize()
		c.ok("launch", object{"mode": "exec", "program": exe, "args": []string{"deep", "3"}})
		pid := int(c.event("process")["systemProcessId"].(float64))
		c.event("initialized")
		c.ok("configurationDone", nil)
		thread := threadOf(t, c.event("stopped"))
		c.stack(thread, 0, 0)
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		c.request("continue", object{"threadId": thread})
		c.event("terminated")
		c.request("stackTrace", object{"threadId": thread})
		c.ok("disconnect", nil)
	})
	play(t, func(c *client) {
		pid := c.waiting(exe)
		c.until("output", func(m *dapwire.Message) bool { return strings.Contains(string(m.Bytes()), "waiting") })
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		c.event("terminated")
		c.ok("disconnect", nil)
	})
}

// TestBadClients: a server for many clients has its other sessions, whatever a
// client does: it writes invalid messages, leaves while the server works for it, or
// does not read.
func TestBadClients(t *testing.T) {
	testneed.Ptrace(t)
	exe, _ := plain(t)
	s := start(t, binary("clew"), "--multi")
	good := s.dial()
	good.numbered = true
	goodPID := good.waiting(exe)

	for _, text := range []string{
		"", "\r\n", "\r\n\r\n", "Content-Length: x\r\n\r\n", "Content-Length: 99999999999999999999999\r\n\r\n", "Content-Length: 9223372036854775807\r\n\r\n{}",
		"Content-Length: 0\r\n\r\n", "Content-Length: 2\r\n\r\n[]", "Content-Length: 4\r\n\r\nnull", "Content-Type: x\r\n\r\n{}", "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"Content-Length: 2\nContent-Length: 3\n\n{}", strings.Repeat("x", 1<<20), "\x16\x03\x01\x02\x00\x01\x00", "Content-Length: 46\r\n\r\n" + `{"seq":1,"type":"request","command":"threads"}` + "Content-Length: 5\r\n\r\n{",
	} {
		c := s.dial()
		_, _ = io.WriteString(c.conn, text) // the server may have seen enough of it
		_ = c.conn.Close()
	}

	// One goes while many stacks are being assembled for it: its program is killed.
	c := s.dial()
	c.many(exe, 2000)
	var pid int
	for _, m := range c.all {
		if m.Event == "process" {
			pid = int(body(t, m)["systemProcessId"].(float64))
		}
	}
	c.send("clew/export", object{"all": true, "format": "snapshot"})
	c.event("progressStart")
	_ = c.conn.Close()
	gone(t, pid)

	// One asks for 30 MB, and reads when it has asked for all of it.
	slow := s.conn()
	const asked = 100
	r := dapwire.NewReader(slow, 0)
	seq := 0
	ask := func(command string, arguments any) {
		m, err := dapwiretest.Request(command, arguments)
		if err != nil {
			t.Error(err)
			return
		}
		seq++
		m.SetSeq(int64(seq))
		if err := dapwire.Write(slow, m.Bytes()); err != nil {
			t.Error(err)
		}
	}
	var thread int64
	answer := func(want string) *dapwire.Message {
		for {
			content, err := r.Read()
			if err != nil {
				t.Fatalf("waiting for %s: %v", want, err)
			}
			m, err := dapwire.Parse(content)
			if err != nil {
				t.Fatal(err)
			}
			if m.Command == want || m.Event == want {
				return m
			}
		}
	}
	ask("initialize", initializeArguments)
	ask("launch", object{"mode": "exec", "program": exe, "args": []string{"deep", "2000"}})
	answer("initialized")
	ask("configurationDone", nil)
	thread = threadOf(t, body(t, answer("stopped")))
	first := seq + 1
	written := make(chan bool)
	go func() {
		defer close(written)
		for range asked {
			ask("stackTrace", object{"threadId": thread, "levels": 5000})
		}
	}()
	time.Sleep(time.Second)
	good.ok("threads", nil) // is answered meanwhile
	for n := range asked {
		m := answer("stackTrace")
		var got stackBody
		decode(t, m, &got)
		if m.RequestSeq != int64(first+n) || len(got.StackFrames) < 2001 {
			t.Fatalf("answer %d is to request %d and has %d frames", n, m.RequestSeq, len(got.StackFrames))
		}
	}
	<-written
	_ = slow.Close()

	good.ok("pause", object{"threadId": 1})
	good.event("stopped")
	good.disconnect()
	gone(t, goodPID)
	fresh := s.dial()
	fresh.initialize()
	fresh.ok("disconnect", nil)
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	if err := s.wait(); err != nil {
		t.Errorf("the server ends with %v", err)
	}
	settle(t, func() string {
		if left := children(t, s.cmd.Process.Pid); len(left) > 0 {
			return fmt.Sprint(left)
		}
		return ""
	})
}
