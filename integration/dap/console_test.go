package dap

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
)

// console types a line into the debug console.
func (c *client) console(line string, frame int64) string {
	c.t.Helper()
	return c.ok("evaluate", object{"expression": line, "context": "repl", "frameId": frame})["result"].(string)
}

// TestConsole types clew's commands, and Delve's beside them.
func TestConsole(t *testing.T) {
	testneed.Ptrace(t)
	p := native(t, "opened-O2-fp-stripped")
	sc := program.Scenarios[0]
	stem := filepath.Join(t.TempDir(), "record")
	c := start(t, binary("clew")).dial()
	thread := threadOf(t, c.launch(object{
		"mode": "exec", "program": p.Path, "args": []string{sc.Name, sc.Stop, stem}, "env": object{"NATIVE_LIBRARY": p.Library},
	}))
	frames := c.stack(thread, 0, 1000).StackFrames
	export := func(format string, depth int) string {
		return string(c.export(object{"threadId": thread, "format": format, "depth": depth}).Files[0].Data)
	}
	// Of the thread that has stopped, of a frame that is selected (one of Delve's, and
	// one that only clew knows), and by its ID: all are the same thread's.
	want := strings.TrimSuffix(export("text", 200), "\n")
	clewFrame := frames[0]
	for _, f := range frames {
		if f.ID >= firstClewID && f.Hint != "label" {
			clewFrame = f
		}
	}
	for line, frame := range map[string]int64{"clew stack": 0, " clew stack ": frames[0].ID, "clew  stack": clewFrame.ID, "clew stack " + itoa(int(thread)): 0} {
		if got := c.console(line, frame); got != want {
			t.Errorf("%q in frame %d gives\n%s\nwant\n%s", line, frame, got, want)
		}
	}
	if got := c.console("clew stack --depth 2", 0); got != strings.TrimSuffix(export("text", 2), "\n") {
		t.Errorf("%s", got)
	}
	if got := c.console("clew stack all", 0); strings.Count(got, "\ngoroutine ") < 2 || !strings.Contains(got, want) {
		t.Errorf("%s\nwithout\n%s", got, want)
	}

	dir := filepath.Join(t.TempDir(), "with blank")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for file, format := range map[string]string{"a.txt": "text", "a.json": "json", "a.cbf": "cbf", "a.swift.json": "swift", "a.pb.gz": "pprof", "a.snapshot.json": "snapshot"} {
		path := filepath.Join(dir, file)
		if output := c.console(`clew export "`+path+`"`, 0); output != "1 stack written to "+path {
			t.Errorf("%s", output)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != export(format, 0) {
			t.Errorf("%s, %v, is not as clew/export has it", path, err)
		}
	}
	folder := filepath.Join(dir, "all")
	if output := c.console(`clew export all --format=cbf '`+folder+`'`, 0); !strings.Contains(output, "stacks written to "+folder) {
		t.Errorf("%s", output)
	}
	if _, err := os.Stat(filepath.Join(folder, "index.json")); err != nil {
		t.Error(err)
	}
	if m := c.request("evaluate", object{"expression": "clew export /nonexistent/x.json", "context": "repl"}); m.Success || !strings.Contains(string(m.Bytes()), "make its folder first") {
		t.Errorf("%s", m.Bytes())
	}

	if got := c.console("clew plugins", 0); !strings.Contains(got, "RANK") || !strings.Contains(got, "dwarfcfi") || !strings.Contains(got, "running") {
		t.Errorf("%s", got)
	}
	if got := c.console("dlv help", 0); !strings.Contains(got, "sources") {
		t.Errorf("%s", got)
	}
	if after := c.stack(thread, 0, 1000).StackFrames; len(after) != len(frames) || after[0] != frames[0] {
		t.Errorf("the frames are %+v, were %+v", after, frames)
	}
	c.disconnect()
}
