package dap

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clewdbg/clew/integration/internal/hosted"
	"github.com/clewdbg/clew/internal/testneed"
)

// TestGoInLibrary: an editor that debugs a program of C's which opens a library with Go
// sees the thread of each stop, Go's frames and C's below them, and the goroutines, of
// which Delve knows none.
func TestGoInLibrary(t *testing.T) {
	testneed.Ptrace(t)
	dir := t.TempDir()
	p, err := hosted.Build(dir, testneed.CC(t))
	if err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(dir, "record")
	c := start(t, binary("clew")).dial()
	c.initialize()
	c.ok("launch", object{"mode": "exec", "program": p.Opened, "args": []string{record}})
	c.event("initialized")
	inGo := object{"breakpoints": []object{{"name": "main.wait"}}}
	c.ok("setFunctionBreakpoints", inGo) // not known yet
	c.ok("configurationDone", nil)

	// Delve stops when the library comes.
	thread := threadOf(t, c.event("stopped"))
	c.listed(thread)
	c.has(thread, "main", "_start")
	c.ok("setFunctionBreakpoints", inGo)
	c.ok("continue", object{"threadId": thread})
	thread = threadOf(t, c.event("stopped"))
	others := c.listed(thread)
	frames := c.has(thread, "main.wait", "crosscall2", "Work", "run", "main", "_start")
	want, err := hosted.Record(record)
	if err != nil {
		t.Fatal(err)
	}
	work := slices.IndexFunc(frames, func(f frame) bool { return named(f, "Work") })
	for i, pc := range want {
		if got := frames[work+1+i].PC; got != fmt.Sprintf("%#x", pc) {
			t.Errorf("C's return address %d is %s, want %#x", i, got, pc)
		}
	}
	if len(others) == 0 {
		t.Error("no other goroutine is listed")
	}
	for _, other := range others {
		if len(c.stack(other, 0, 20).StackFrames) == 0 {
			t.Errorf("thread %d has no stack", other)
		}
	}
	c.disconnect()
}

// listed demands that a thread is among those listed, and returns the others.
func (c *client) listed(thread int64) (others []int64) {
	c.t.Helper()
	found := false
	for _, th := range c.ok("threads", nil)["threads"].([]any) {
		id := int64(th.(object)["id"].(float64))
		if id == thread {
			found = true
		} else {
			others = append(others, id)
		}
	}
	if !found {
		c.t.Errorf("thread %d has stopped and is not listed", thread)
	}
	return others
}

// has demands that a stack has frames in functions, in that order.
func (c *client) has(thread int64, functions ...string) []frame {
	c.t.Helper()
	frames := c.stack(thread, 0, 100).StackFrames
	for _, f := range frames {
		if len(functions) > 0 && named(f, functions[0]) {
			functions = functions[1:]
		}
	}
	if len(functions) > 0 {
		c.t.Errorf("no frame in %s: %+v", functions[0], frames)
	}
	return frames
}

// named reports whether a frame is in a function.
func named(f frame, function string) bool { return f.Name == function }
