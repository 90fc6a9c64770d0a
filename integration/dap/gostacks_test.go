package dap

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestGoStacks: a stack of Go functions only is Delve's, whole, at any depth, and
// takes no plugin.
func TestGoStacks(t *testing.T) {
	testneed.Ptrace(t)
	exe, _ := plain(t)
	s := start(t, binary("clew"))
	c := s.dial()
	c.numbered = true
	const depth = 20_000
	thread := threadOf(t, c.launch(object{"mode": "exec", "program": exe, "args": []string{"deep", itoa(depth)}, "stackTraceDepth": 7}))
	if got := c.stack(thread, 0, 1); len(got.StackFrames) != 1 || got.TotalFrames < 8 || got.TotalFrames > depth {
		t.Errorf("the first frame: %+v", got)
	}
	if got := c.stack(thread, 0, 0); len(got.StackFrames) != 7 {
		t.Errorf("%d frames by default", len(got.StackFrames))
	}
	c.stack(thread, 1, 19)
	whole := c.stack(thread, 0, 1_000_000)
	names := map[string]int{}
	ids := map[int64]bool{}
	for _, f := range whole.StackFrames {
		names[f.Name]++
		ids[f.ID] = true
		if f.ID >= firstClewID || f.Hint == "label" {
			t.Fatalf("a row that Delve does not know: %+v", f)
		}
	}
	if names["main.deep"] != depth+1 || names["runtime.Breakpoint"] != 0 && names["runtime.Breakpoint"] != 1 || names["runtime.goexit"] != 1 {
		t.Errorf("%v", names)
	}
	if len(ids) != len(whole.StackFrames) || whole.TotalFrames != len(whole.StackFrames) {
		t.Errorf("%d rows, %d IDs, %d in all", len(whole.StackFrames), len(ids), whole.TotalFrames)
	}
	for _, command := range children(t, s.cmd.Process.Pid) {
		if strings.Contains(command, "\x00plugin\x00") {
			t.Errorf("a plugin runs: %q", command)
		}
	}
	middle := c.stack(thread, depth/2, 3)
	for i, f := range middle.StackFrames {
		w := whole.StackFrames[depth/2+i]
		if f.Name != w.Name || f.PC != w.PC || f.Line != w.Line {
			t.Errorf("%+v, want %+v", f, w)
		}
	}
	// Variables are of the frame that was asked for.
	for _, i := range []int{1, 2, 100, depth} {
		f := whole.StackFrames[i]
		if got := c.ok("evaluate", object{"expression": "n", "frameId": f.ID, "context": "watch"})["result"]; f.Name == "main.deep" && got != itoa(i-names["runtime.Breakpoint"]) {
			t.Errorf("n in frame %d is %v", i, got)
		}
	}
	c.disconnect()
}

// TestGoStackMiddleFirst asks for a page in the middle before the first page.
func TestGoStackMiddleFirst(t *testing.T) {
	testneed.Ptrace(t)
	exe, _ := plain(t)
	c := start(t, binary("clew")).dial()
	thread := threadOf(t, c.launch(object{"mode": "exec", "program": exe, "args": []string{"deep", "300"}}))
	middle := c.stack(thread, 100, 3)
	whole := c.stack(thread, 0, 1000)
	for i, f := range middle.StackFrames {
		w := whole.StackFrames[100+i]
		if f.Name != w.Name || f.PC != w.PC || f.ID >= firstClewID || len(middle.StackFrames) != 3 {
			t.Errorf("%+v, want %+v", f, w)
		}
		frame := whole.StackFrames[100+i].ID
		if a, b := c.value("n", f.ID), c.value("n", frame); a != b {
			t.Errorf("n is %s in one frame %d, %s in the other", a, 100+i, b)
		}
	}
	c.disconnect()
}

func (c *client) value(expression string, frame int64) string {
	c.t.Helper()
	return fmt.Sprint(c.ok("evaluate", object{"expression": expression, "frameId": frame, "context": "watch"})["result"])
}

// children lists the command lines of a process's children and of theirs.
func children(t testing.TB, pid int) (commands []string) {
	t.Helper()
	for child := range below(t, pid) {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child)) // it may have ended
		commands = append(commands, string(line))
	}
	return commands
}

// below returns the IDs of a process's children and of theirs, and their states.
func below(t testing.TB, pid int) map[int]string {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	states, children := map[int]string{}, map[int][]int{}
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && len(fields) > 1 {
			parent, _ := strconv.Atoi(string(fields[1]))
			states[child], children[parent] = string(fields[0]), append(children[parent], child)
		}
	}
	out := map[int]string{}
	for next := children[pid]; len(next) > 0; next = next[1:] {
		out[next[0]] = states[next[0]]
		next = append(next, children[next[0]]...)
	}
	return out
}
