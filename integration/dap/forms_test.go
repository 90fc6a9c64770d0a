package dap

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
)

// The launch and attach forms and their attributes, beside those of
// compare_test.go.

// TestCoreFile opens a core file of a Go program.
func TestCoreFile(t *testing.T) {
	exe, _ := plain(t)
	core := testkit.Core(t, append(os.Environ(), "GOTRACEBACK=crash"), exe, "goroutines", "3")
	launch := object{"mode": "core", "program": exe, "coreFilePath": core}
	play(t, func(c *client) {
		thread := threadOf(t, c.launch(launch))
		for _, th := range c.ok("threads", nil)["threads"].([]any) {
			if strings.Contains(th.(object)["name"].(string), "main.goroutines.func1") {
				c.inspectStop(int64(th.(object)["id"].(float64)))
			}
		}
		c.request("exceptionInfo", object{"threadId": thread})
		for _, command := range []string{"next", "stepBack", "reverseContinue"} {
			c.request(command, object{"threadId": 1})
			c.event("stopped")
		}
		c.request("pause", object{"threadId": 1})
		c.request("restart", object{"threadId": 1})
		c.request("evaluate", object{"expression": "dlv target list", "context": "repl"})
		c.ok("disconnect", nil)
	})
	// The goroutine that crashed was in the handler of its second signal: both handlers
	// are there, and what called them.
	c := start(t, binary("clew")).dial()
	names := map[string]int{}
	for _, f := range c.stack(threadOf(t, c.launch(launch)), 0, 100).StackFrames {
		names[f.Name]++
	}
	if names["runtime.raise"] != 2 || names["runtime.dieFromSignal"] != 2 || names["runtime.sigtramp"] == 0 || names["main.main"] != 1 {
		t.Errorf("the stack has %v", names)
	}
	c.disconnect()
}

// TestReplay: without rr a trace cannot be replayed.
func TestReplay(t *testing.T) {
	if _, err := exec.LookPath("rr"); err == nil {
		testneed.LeaveOut(t, "rr is installed: its absence is what is tested")
	}
	exe, _ := plain(t)
	play(t, func(c *client) {
		c.initialize()
		c.request("launch", object{"mode": "replay", "traceDirPath": t.TempDir()})
		c.request("launch", object{"mode": "replay", "traceDirPath": "/nonexistent"})
		c.request("launch", object{"mode": "replay"})
		c.request("launch", object{"mode": "exec", "program": exe, "backend": "rr"})
		c.ok("disconnect", nil)
	})
}

// TestWaitFor attaches to a process that is started while the server waits for it.
func TestWaitFor(t *testing.T) {
	exe, _ := plain(t)
	play(t, func(c *client) {
		awaited := filepath.Join(t.TempDir(), "awaited")
		if err := os.Link(exe, awaited); err != nil {
			t.Fatal(err)
		}
		c.initialize()
		c.request("attach", object{"mode": "local", "processId": 1, "waitFor": awaited})
		seq := c.send("attach", object{"mode": "local", "waitFor": awaited, "stopOnEntry": true})
		// One that Delve sees before its execve is not seen again: there are more.
		traced := 0
		for end := time.Now().Add(patience); traced == 0 && time.Now().Before(end); {
			cmd := exec.Command(awaited, "wait")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = cmd.Process.Kill()
				_ = cmd.Wait() // killed is what we want
			}()
			for range 200 {
				if tracer(t, cmd.Process.Pid) != "0" {
					traced = cmd.Process.Pid
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
		}
		c.event("initialized")
		if m := c.response(seq); !m.Success || traced == 0 {
			t.Fatalf("process %d, %s", traced, m.Bytes())
		}
		c.ok("configurationDone", nil)
		c.event("stopped")
		c.request("restart", object{})
		c.ok("disconnect", object{"terminateDebuggee": true})
		gone(t, traced)
	})
}

// tracer is the ID of the process that traces another.
func tracer(t testing.TB, pid int) string {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "TracerPid:")
	id, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(id)
}

// TestRemote attaches to the program that a headless server debugs, goes on, and leaves or ends
// it.
func TestRemote(t *testing.T) {
	exe, source := plain(t)
	at := line(t, source, breakpointText)
	headless := func(flags ...string) func(string) *server {
		return func(server string) *server {
			args := append([]string{"exec", "--headless", "--listen=127.0.0.1:0"}, flags...)
			return startAny(t, "API server listening at: ", server, append(args, exe)...)
		}
	}
	play := func(name string, start func(string) *server, script func(*client)) {
		t.Run(name, func(t *testing.T) { playOn(t, start, script) })
	}
	play("one client", headless(), func(c *client) {
		c.numbered = false // a server's own session
		c.initialize()
		c.request("launch", object{"mode": "exec", "program": exe})
		c.ok("attach", object{"mode": "remote", "substitutePath": []object{{"from": "/elsewhere", "to": source}}})
		c.event("initialized")
		c.ok("setBreakpoints", breakpoints("/elsewhere", at))
		c.ok("configurationDone", nil)
		thread := threadOf(c.t, c.event("stopped"))
		c.inspectStop(thread)
		c.ok("stepOut", object{"threadId": thread})
		c.stack(threadOf(c.t, c.event("stopped")), 0, 0)
		c.ok("disconnect", nil)
	})
	play("many clients", headless("--accept-multiclient"), func(c *client) {
		c.numbered = false
		c.initialize()
		c.ok("attach", object{"mode": "remote", "stopOnEntry": true})
		c.event("initialized")
		c.ok("configurationDone", nil)
		c.event("stopped")
		c.ok("setBreakpoints", breakpoints(source, at))
		c.ok("continue", object{"threadId": 1})
		c.inspectStop(threadOf(c.t, c.event("stopped")))
		c.ok("disconnect", object{"terminateDebuggee": true})
	})
}
