package dap

import (
	"path/filepath"
	"testing"
)

// TestSubstitutePathConsole: rules that are made and taken back in the console
// hold for every frame of a stack, whoever has found it.
func TestSubstitutePathConsole(t *testing.T) {
	p := locals(t)
	c := start(t, binary("clew")).dial()
	thread := c.launchLocals(p, lineOf(t, p.source, "// stop here"))
	paths := func(command string) (folders map[string]int) {
		t.Helper()
		c.ok("evaluate", object{"expression": command, "context": "repl"})
		folders = map[string]int{}
		for _, f := range c.stack(thread, 0, 50).StackFrames {
			if filepath.Base(f.Source.Path) == "main.go" {
				owner := "Delve's "
				if f.ID >= firstClewID {
					owner = "clew's "
				}
				folders[owner+filepath.Dir(f.Source.Path)]++
			}
		}
		return folders
	}
	real := filepath.Dir(p.source)
	before := paths("dlv config -list")
	if before["Delve's "+real] == 0 || before["clew's "+real] == 0 {
		t.Fatalf("not both have frames of this program: %v", before)
	}
	for _, step := range []struct{ command, folder string }{
		{"dlv config substitutePath /elsewhere " + real, "/elsewhere"},
		{"dlv config substitutePath", "/elsewhere"},
		{"dlv config substitutePath /elsewhere /nowhere", real},
		{`dlv config substitutePath "/elsewhere" "` + real + `"`, "/elsewhere"},
		{"dlv config substitutePath /elsewhere", real},
		{"dlv config substitutePath /other " + real, "/other"},
		{"dlv config substitutePath -clear", real},
	} {
		got := paths(step.command)
		if got["Delve's "+step.folder] != before["Delve's "+real] || got["clew's "+step.folder] != before["clew's "+real] {
			t.Errorf("after %s: %v, want all in %s", step.command, got, step.folder)
		}
	}
	c.disconnect()
}
