package dap

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestGone: however a session ends, a launched program is killed, and one that was
// attached to goes on.
func TestGone(t *testing.T) {
	exe, _ := plain(t)
	testneed.Ptrace(t)
	ways := map[string]func(*server, *client){
		"client vanishes":        func(_ *server, c *client) { _ = c.conn.Close() },
		"client vanishes midway": func(_ *server, c *client) { fmt.Fprint(c.conn, "Content-Length: 100\r\n\r\n{"); _ = c.conn.Close() },
		"malformed framing":      func(_ *server, c *client) { fmt.Fprint(c.conn, "Content-Length: -5\r\n\r\n{}") },
		"huge length":            func(_ *server, c *client) { fmt.Fprint(c.conn, "Content-Length: 99999999999999\r\n\r\n{}") },
		"malformed JSON":         func(_ *server, c *client) { fmt.Fprint(c.conn, "Content-Length: 3\r\n\r\n{x}") },
		"interrupt":              func(s *server, _ *client) { _ = s.cmd.Process.Signal(os.Interrupt) },
		"terminate":              func(s *server, _ *client) { _ = s.cmd.Process.Signal(syscall.SIGTERM) },
		"hang up":                func(s *server, _ *client) { _ = s.cmd.Process.Signal(syscall.SIGHUP) },
		"kill":                   func(s *server, _ *client) { _ = s.cmd.Process.Kill() },
		"kill the tracer":        nil,
	}
	for name, end := range ways {
		for _, attach := range []bool{false, true} {
			t.Run(name+"/attach="+strconv.FormatBool(attach), func(t *testing.T) {
				s := start(t, binary("clew"))
				c := s.dial()
				c.numbered = true
				var pid int
				if attach {
					cmd := exec.Command(exe, "wait")
					if err := cmd.Start(); err != nil {
						t.Fatal(err)
					}
					defer func() {
						_ = cmd.Process.Kill()
						_ = cmd.Wait() // killed is what we want
					}()
					pid = cmd.Process.Pid
					c.initialize()
					c.ok("attach", object{"mode": "local", "processId": pid})
					c.event("initialized")
					c.ok("setFunctionBreakpoints", object{"breakpoints": []object{{"name": "main.sum"}}})
					c.ok("configurationDone", nil)
				} else {
					pid = c.waiting(exe)
				}
				if end == nil {
					killTracer(t, pid)
				} else {
					end(s, c)
				}
				err := s.wait()
				if name != "kill" && end != nil && err != nil {
					t.Errorf("the server ends with %v; stderr: %s", err, s.stderr)
				}
				if !attach {
					gone(t, pid)
					return
				}
				for i := 0; ; i++ {
					state := processState(t, pid)
					if state == "S" || state == "R" {
						break
					}
					if i == 500 {
						t.Fatalf("the process is left in state %s", state)
					}
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
	}
}

// TestKilledWhileStarting: a server that is killed while Delve starts a program,
// and knows nothing of it yet, leaves no process behind either: not one that it
// has just built, nor one that it starts again.
func TestKilledWhileStarting(t *testing.T) {
	exe, source := plain(t)
	testneed.Ptrace(t)
	forms := map[string]object{
		"exec":    {"mode": "exec", "program": exe},
		"debug":   {"mode": "debug", "program": source, "dlvCwd": source},
		"test":    {"mode": "test", "program": source, "dlvCwd": source},
		"restart": {"request": "launch", "mode": "exec", "program": exe, "rebuild": false},
	}
	for name, launch := range forms {
		t.Run(name, func(t *testing.T) {
			launch["output"] = filepath.Join(t.TempDir(), "program") // is left behind by who is killed
			s := start(t, binary("clew"))
			c := s.dial()
			first := 0
			if name == "restart" {
				first = c.waiting(exe)
				c.send("restart", object{"arguments": launch})
			} else {
				c.initialize()
				c.send("launch", launch)
			}
			pid := s.starts(first)
			killTracer(t, pid)
			_ = s.wait() // killed is what we want
			gone(t, pid)
		})
	}
}

// killTracer kills the process that traces another one: what guards that process must see to it, not the tracer's front.
func killTracer(t testing.TB, pid int) {
	t.Helper()
	id, err := strconv.Atoi(tracer(t, pid))
	if err != nil || id == 0 || syscall.Kill(id, syscall.SIGKILL) != nil {
		t.Fatalf("process %d is traced by %d, %v", pid, id, err)
	}
}

// starts waits for the process that the server starts to debug it, and returns its
// ID; but is not meant.
func (s *server) starts(but int) int {
	s.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for pid, state := range below(s.t, s.cmd.Process.Pid) {
			target, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
			if err == nil && pid != but && state == "t" && filepath.Base(target) != "clew" {
				return pid
			}
		}
	}
	s.t.Fatalf("no process is started; children: %v, but %d stderr: %s", below(s.t, s.cmd.Process.Pid), but, s.stderr)
	return 0
}
