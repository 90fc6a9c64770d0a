package dap

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestPrologueValues: at no instruction of a function is an argument shown that it does not have: not before the function has stored it, and not when
// it has left its frame.
func TestPrologueValues(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	for _, args := range [][]string{
		{testneed.CC(t), "-O0"}, {testneed.Tool(t, "clang"), "-O0"}, {testneed.CC(t), "-O2"}, {testneed.Tool(t, "clang"), "-O2"}, {testneed.Tool(t, "clang"), "-O1", "-fno-omit-frame-pointer"},
	} {
		t.Run(filepath.Base(args[0])+" "+strings.Join(args[1:], " "), func(t *testing.T) {
			exe := filepath.Join(t.TempDir(), "prologue")
			if out, err := exec.Command(args[0], append(args[1:], "-g", "-o", exe, "-x", "c", filepath.Join("testdata", "prologue.c.txt"))...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			stepThrough(t, exe, args[1] == "-O0")
		})
	}
}

func stepThrough(t *testing.T, exe string, plain bool) {
	truth := map[string]string{"a": "11", "b": "12", "c": "99 'c'", "d": "1.5", "e": "14", "f": "15", "g": "16", "h": "17", "i": "18"}
	c := start(t, binary("clew")).dial()
	c.initialize()
	c.ok("launch", object{"mode": "exec", "program": exe, "outputMode": "remote"})
	c.event("initialized")
	c.ok("setFunctionBreakpoints", object{"breakpoints": []object{{"name": "main"}}})
	c.ok("configurationDone", nil)
	asked, right := 0, 0
	for thread := threadOf(t, c.event("stopped")); ; thread = threadOf(t, c.event("stopped")) {
		all := c.stack(thread, 0, 3).StackFrames
		if name, _, _ := strings.Cut(all[0].Name, "("); name != "main" && name != "leaf" && name != "calls" && name != "use" {
			break
		}
		for _, f := range all {
			if name, _, _ := strings.Cut(f.Name, "("); name != "leaf" && name != "calls" {
				continue
			}
			for name, want := range truth {
				asked++
				var body struct{ Result string }
				m := c.request("evaluate", object{"expression": name, "frameId": f.ID, "context": "watch"})
				switch {
				case !m.Success || m.Decode("body", &body) != nil:
					t.Fatalf("%s: %s", name, m.Bytes())
				case body.Result == want:
					right++
				case !strings.HasPrefix(body.Result, "<"):
					t.Errorf("%s in %s at %s is %s, want %s", name, f.Name, f.PC, body.Result, want)
				}
			}
		}
		c.ok("stepIn", object{"threadId": thread, "granularity": "instruction"})
	}
	t.Logf("%d asked, %d right", asked, right)
	if asked < 100 || plain && right < asked/2 {
		t.Errorf("of %d values %d are right", asked, right)
	}
	c.disconnect()
}
