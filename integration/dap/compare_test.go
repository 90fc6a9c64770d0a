package dap

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/clewdbg/clew/integration/internal/scenario"
)

// play plays a session against both servers and compares.
func play(t *testing.T, script func(*client)) {
	t.Helper()
	playOn(t, func(exe string) *server { return start(t, exe) }, script)
}

// playOn is play, for servers that are started in another way.
func playOn(t *testing.T, start func(exe string) *server, script func(*client)) {
	t.Helper()
	dlv, clew := peers(t)
	a := record(t, start(dlv), script)
	b := record(t, start(clew), script)
	if !t.Failed() {
		for _, d := range scenario.Compare(a.all, b.all) {
			t.Error(d)
		}
	}
}

// record plays a session and waits for the server's end.
func record(t *testing.T, s *server, script func(*client)) *client {
	t.Helper()
	c := s.dial()
	script(c)
	c.end()
	if err := s.wait(); err != nil {
		t.Errorf("%s ends with %v; stderr: %s", filepath.Base(s.cmd.Path), err, s.stderr)
	}
	return c
}

// line finds the line of main.go that has a text.
func line(t testing.TB, source, text string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(source, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := bytes.Cut(data, []byte(text))
	if !found {
		t.Fatalf("no line has %q", text)
	}
	return bytes.Count(before, []byte("\n")) + 1
}

const breakpointText = "// a breakpoint goes here"

func breakpoints(source string, lines ...int) object {
	list := []object{}
	for _, n := range lines {
		list = append(list, object{"line": n})
	}
	return object{"source": object{"path": filepath.Join(source, "main.go")}, "breakpoints": list}
}

// inspectStop asks for everything that an editor shows at a stop.
func (c *client) inspectStop(thread int64) {
	c.t.Helper()
	c.ok("threads", nil)
	first := c.stack(thread, 0, 1)
	c.stack(thread, 1, 19)
	c.stack(thread, 0, 0)
	c.stack(thread, 100, 5)
	frames := append(first.StackFrames, c.stack(thread, 1, 1).StackFrames...)
	for _, f := range frames {
		for _, s := range c.scopes(f.ID) {
			if s.VariablesReference < firstClewID {
				c.ok("variables", object{"variablesReference": s.VariablesReference})
			}
		}
		for _, expression := range []string{"p", "p.X", "total", "list[1]", "nothing", "1+"} {
			c.request("evaluate", object{"expression": expression, "frameId": f.ID, "context": "watch"})
		}
	}
	c.request("scopes", object{"frameId": 999999})
	c.request("variables", object{"variablesReference": 999999})
}

// processState is the letter in /proc/PID/stat.
func processState(t testing.TB, pid int) string {
	t.Helper()
	out, err := exec.Command("ps", "-o", "state=", "-p", itoa(pid)).Output()
	if err != nil {
		t.Fatalf("process %d: %v", pid, err)
	}
	return string(bytes.TrimSpace(out))
}

func itoa(n int) string { return strconv.Itoa(n) }
