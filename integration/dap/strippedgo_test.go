package dap

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/internal/testneed"
)

const strippedSource = `package main

import (
	"runtime"
	"time"
)

func worker(c chan int) { <-c }

//go:noinline
func sum(n int) (out int) {
	for i := range n {
		out += i
	}
	return out
}

func main() {
	c := make(chan int)
	for range 6 {
		go worker(c)
	}
	time.Sleep(200 * time.Millisecond)
	runtime.Breakpoint()
	println(sum(3))
}
`

// TestStrippedGo: an editor lists the goroutines of a program without DWARF and symbols, and
// shows the stack of each.
func TestStrippedGo(t *testing.T) {
	testneed.Ptrace(t)
	dir := t.TempDir()
	exe := filepath.Join(dir, "stripped")
	for name, text := range map[string]string{"main.go": strippedSource, "go.mod": "module stripped\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", exe, ".")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c := start(t, binary("clew")).dial()
	stopped := threadOf(t, c.launch(object{"mode": "exec", "program": exe}))
	var body dap.ThreadsResponseBody
	decode(t, c.request("threads", nil), &body)
	through := func(thread int64) string {
		var names []string
		for _, f := range c.stack(thread, 0, 50).StackFrames {
			names = append(names, f.Name)
		}
		return strings.Join(names, " ")
	}
	workers := 0
	for _, th := range body.Threads {
		if !strings.Contains(th.Name, "[Go ") {
			continue
		}
		if names := through(int64(th.Id)); strings.HasSuffix(names, "runtime.chanrecv1 main.worker main.main.gowrap1 runtime.goexit") {
			workers++
		}
	}
	if workers != 6 {
		t.Errorf("%d goroutines of 6 are in worker: %+v", workers, body.Threads)
	}
	if names := through(stopped); !strings.HasSuffix(names, "main.main runtime.main runtime.goexit") {
		t.Errorf("the stopped one: %s", names)
	}
	source := object{"path": filepath.Join(dir, "main.go")}
	set := func(lines ...object) []dap.Breakpoint {
		var body dap.SetBreakpointsResponseBody
		decode(t, c.request("setBreakpoints", object{"source": source, "breakpoints": lines}), &body)
		return body.Breakpoints
	}
	const inLoop, comment = 13, 10
	got := set(object{"line": inLoop, "hitCondition": "== 2"}, object{"line": comment})
	if len(got) != 2 || !got[0].Verified || got[0].Line != inLoop || got[1].Verified || got[1].Message == "" {
		t.Errorf("%+v", got)
	}
	c.send("continue", object{"threadId": stopped})
	event := c.event("stopped")
	if event["reason"] != "breakpoint" {
		t.Errorf("stopped for %v", event["reason"])
	}
	if names := through(threadOf(t, event)); !strings.HasPrefix(names, "main.sum main.main") { // the goroutine may have gone to another thread
		t.Errorf("at the line: %s", names)
	}
	if got := set(); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	c.disconnect()

	// Most editors set breakpoints before the program has run.
	c = start(t, binary("clew")).dial()
	c.initialize()
	c.ok("launch", object{"mode": "exec", "program": exe})
	c.event("initialized")
	if got := set(object{"line": inLoop}); len(got) != 1 || !got[0].Verified || got[0].Line != inLoop {
		t.Errorf("before the program runs: %+v", got)
	}
	c.ok("configurationDone", nil)
	c.event("stopped") // at its own breakpoint
	c.send("continue", object{"threadId": 1})
	if event := c.event("stopped"); event["reason"] != "breakpoint" {
		t.Errorf("stopped for %v", event["reason"])
	}
	c.disconnect()
}
