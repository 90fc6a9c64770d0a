package dap

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// dumped is a core file of the program, and the program's record.
func dumped(t *testing.T, p program.Program) (core, stem string) {
	t.Helper()
	stem = filepath.Join(t.TempDir(), "record")
	return testkit.Core(t, p.Env(), p.Path, "plain", "core", stem), stem
}

// TestCoreOfAnotherBuild is refused at launch: its stacks would have names and be
// wrong.
func TestCoreOfAnotherBuild(t *testing.T) {
	core, _ := dumped(t, native(t, "static-O2-omit"))
	other := binary("clew")
	c := start(t, binary("clew")).dial()
	c.request("initialize", object{"adapterID": "test", "linesStartAt1": true, "columnsStartAt1": true})
	m := c.request("launch", object{"request": "launch", "mode": "core", "program": other, "coreFilePath": core})
	if m.Success || !strings.Contains(string(m.Bytes()), "is of another build than "+other) {
		t.Errorf("a core file of another program: %s", m.Bytes())
	}
}

// TestCoreEnds: a session on a core file ends, and so does its server, also where the
// editor wants the program's output. (Delve waits for that.)
func TestCoreEnds(t *testing.T) {
	p := native(t, "static-O2-omit")
	core, _ := dumped(t, p)
	for _, program := range []string{p.Path, binary("clew")} { // the second is refused
		s := start(t, binary("clew"))
		c := s.dial()
		c.initialize()
		if m := c.request("launch", object{"mode": "core", "program": program, "coreFilePath": core, "outputMode": "remote"}); m.Success != (program == p.Path) {
			t.Errorf("launch: %s", m.Bytes())
		}
		c.request("disconnect", nil)
		c.end()
		if err := s.wait(); err != nil {
			t.Errorf("the server ends with %v: %s", err, s.stderr)
		}
	}
}

// TestFailedLaunchEnds: where a program could not be started, the server ends with the
// session, also where the editor wants the program's output. (Delve waits for that.)
func TestFailedLaunchEnds(t *testing.T) {
	s := start(t, binary("clew"))
	c := s.dial()
	c.initialize()
	if m := c.request("launch", object{"mode": "exec", "program": filepath.Join(t.TempDir(), "none"), "outputMode": "remote"}); m.Success {
		t.Errorf("launch: %s", m.Bytes())
	}
	c.request("disconnect", nil)
	_ = c.conn.Close()
	if err := s.wait(); err != nil {
		t.Errorf("the server ends with %v: %s", err, s.stderr)
	}
}

// TestCore opens a core file: its stacks are those that the program recorded.
func TestCore(t *testing.T) {
	p := native(t, "static-O2-omit")
	core, stem := dumped(t, p)
	c := start(t, binary("clew")).dial()
	c.numbered = true
	thread := threadOf(t, c.launch(object{"mode": "core", "program": p.Path, "coreFilePath": core}))
	got := c.stack(thread, 0, 100)
	var stack stackjson.Stack
	decode(t, c.request("clew/stack", object{"threadId": thread}), &stack)
	sameFrames(t, got, &stack)
	record, err := program.ReadRecord(stem, stack.Thread)
	if err != nil {
		t.Fatal(err)
	}
	var bad program.Findings
	bad.CheckExact(&stack, program.Expect(record, program.Scenarios[0].Groups))
	for _, b := range bad {
		t.Error(b)
	}
	for _, f := range got.StackFrames {
		if f.ID >= firstClewID {
			c.checkClewFrame(f)
			break
		}
	}
	if m := c.request("next", object{"threadId": thread}); !m.Success {
		t.Errorf("a step in a core file is refused: %s", m.Bytes()) // Delve stops with a reason
	}
	c.event("stopped")
	c.disconnect()
}
