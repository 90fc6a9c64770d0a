package dap

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
)

// TestProxyOtherClient: another client lets the program run, of which an editor
// is not told. Stacks are those of where it stands now, and frames of before
// are refused.
func TestProxyOtherClient(t *testing.T) {
	exe, source := plain(t)
	up := headless(t, nil, true, exe, "deep", "50")
	p := proxyTo(t, up)
	c := p.dial()
	c.initialize()
	c.ok("attach", object{"mode": "remote", "stopOnEntry": true})
	c.event("initialized")
	c.ok("setBreakpoints", breakpoints(source, line(t, source, "return deep(n-1) + 1")))
	c.ok("configurationDone", nil)
	c.event("stopped")
	c.ok("continue", object{"threadId": 1})
	thread := threadOf(t, c.event("stopped"))
	other := rpcTo(t, up)
	var before stackBody
	for depth := 1; depth < 8; depth++ {
		got := c.stack(thread, 0, 100)
		deep := 0
		for _, f := range got.StackFrames {
			if f.Name == "main.deep" {
				deep++
			}
		}
		if deep != depth || got.TotalFrames != len(got.StackFrames) {
			t.Errorf("%d activations of main.deep are %d: %+v", depth, deep, got)
		}
		if depth > 1 {
			if len(got.StackFrames) != len(before.StackFrames)+1 {
				t.Errorf("%d frames follow %d", len(got.StackFrames), len(before.StackFrames))
			}
		}
		want := strconv.Itoa(50 - depth + 1)
		for _, s := range c.scopes(got.StackFrames[0].ID) {
			if s.Name == "Locals" || s.Name == "Arguments" {
				if n := c.variables(s.VariablesReference)["n"]; n != "" && n != want {
					t.Errorf("at depth %d n is %s, want %s", depth, n, want)
				}
			}
		}
		before = got
		if state := command(t, other, "continue"); state.Running || state.Exited {
			t.Fatalf("%+v", state)
		}
	}
	c.ok("setBreakpoints", breakpoints(source))
	c.disconnect()
	for _, s := range []*server{up, p} {
		if err := s.wait(); err != nil {
			t.Errorf("%s ends with %v: %s", s.cmd.Path, err, s.stderr)
		}
	}
}

// TestProxyServerKilled: a client that waits is told that the server is gone, as
// is one that does not, and the proxy ends.
func TestProxyServerKilled(t *testing.T) {
	for name, several := range map[string]bool{"several": true, "one": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exe, _ := plain(t)
			up := headless(t, nil, several, exe, "wait")
			p := proxyTo(t, up)
			c := p.dial()
			c.remoteEntry()
			c.stack(-1, 0, 10)
			killLater(t, up.cmd.Process.Pid)
			if err := syscall.Kill(up.cmd.Process.Pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			c.event("terminated")
			c.end()
			if err := p.wait(); err != nil || !strings.Contains(p.stderr.String(), "is gone") {
				t.Errorf("clew proxy ends with %v: %s", err, p.stderr)
			}
		})
	}
}

// killLater kills the processes that a process has started, at the end of the test:
// they run on where that process is killed itself.
func killLater(t *testing.T, pid int) {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // a thread that has ended
		}
		for _, field := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = syscall.Kill(child, syscall.SIGKILL) })
		}
	}
}

// remoteEntry attaches to the program that a headless server holds, where it
// stands.
func (c *client) remoteEntry() {
	c.t.Helper()
	c.initialize()
	c.ok("attach", object{"mode": "remote", "stopOnEntry": true})
	c.event("initialized")
	c.ok("configurationDone", nil)
	c.event("stopped")
}

// TestProxyClientVanishes: the server treats the program as without a proxy, and
// the next client is served.
func TestProxyClientVanishes(t *testing.T) {
	exe, _ := plain(t)
	up := headless(t, nil, true, exe, "wait")
	p := proxyTo(t, up)
	for range 3 {
		c := p.dial()
		c.remoteEntry()
		c.send("stackTrace", object{"threadId": -1})
		c.send("threads", nil)
		if err := c.conn.(*net.TCPConn).SetLinger(0); err != nil {
			t.Fatal(err)
		}
		_ = c.conn.Close()
	}
	c := p.dial()
	c.remoteEntry()
	if got := c.stack(-1, 0, 10); len(got.StackFrames) == 0 {
		t.Error("no stack")
	}
	c.disconnect()
	for _, s := range []*server{up, p} {
		if err := s.wait(); err != nil {
			t.Errorf("%s ends with %v: %s", s.cmd.Path, err, s.stderr)
		}
	}
}

// TestProxyOtherUser: the server takes its own user only, and the proxy opens it to
// no other client.
func TestProxyOtherUser(t *testing.T) {
	if os.Getuid() != 0 {
		testneed.LeaveOut(t, "only root can be another user")
	}
	exe, _ := plain(t)
	up := headless(t, nil, true, exe)
	p := proxyTo(t, up)
	if askAs(t, p.addr, 65534) {
		t.Error("another user is answered")
	}
	for end := time.Now().Add(patience); !strings.Contains(p.stderr.String(), "user 65534"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("stderr does not mention it: %q", p.stderr)
		}
	}
	c := p.dial()
	c.remoteEntry()
	c.disconnect()
	_, _ = up.wait(), p.wait()
}

// TestProxyBeforeClew: the answers of clew's own server pass unchanged.
func TestProxyBeforeClew(t *testing.T) {
	v, _ := program.Named("linked-O2-omit-stripped")
	sc := program.Scenarios[1]
	p := native(t, v.Name)
	testneed.Ptrace(t)
	stem := filepath.Join(t.TempDir(), "record")
	up := startAny(t, headlessBanner, "env", "NATIVE_LIBRARY="+p.Library, binary("clew"), "exec", p.Path,
		"--headless", "--listen=127.0.0.1:0", "--accept-multiclient", "--", sc.Name, sc.Stop, stem)
	proxy := proxyTo(t, up)
	c := proxy.dial()
	c.sameAsRecorded(t, threadOf(t, c.remote(nil)), v, sc, stem)
	c.disconnect()
	for _, s := range []*server{up, proxy} {
		if err := s.wait(); err != nil {
			t.Errorf("%s ends with %v: %s", s.cmd.Path, err, s.stderr)
		}
	}
}
