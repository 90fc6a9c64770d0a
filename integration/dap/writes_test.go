package dap

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/dapwire"
)

// TestWrites: of the leaves of generated programs, half are written; the programs then write down what they hold, and exactly those have
// changed.
func TestWrites(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	cc, gdb := testneed.CC(t), testneed.Tool(t, "gdb")
	written := 0
	for seed := range uint64(max(*valuePrograms/4, 2)) {
		g := generator{Rand: rand.New(rand.NewPCG(seed, 77)), cxx: seed%2 == 1}
		dir := t.TempDir()
		source, exe := filepath.Join(dir, "g.c"), filepath.Join(dir, "g")
		if err := os.WriteFile(source, []byte(g.program(4).source), 0o644); err != nil {
			t.Fatal(err)
		}
		args := []string{"-g", "-w", "-O0", map[bool]string{false: "-xc", true: "-xc++"}[g.cxx], source, "-o", exe, "-lstdc++"}
		if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		written += writeHalf(t, g.Rand, exe, leavesOf(t, gdb, exe))
	}
	t.Logf("%d leaves were written", written)
	if written < 50 {
		t.Errorf("%d leaves were written", written)
	}
}

// aliased says that what a path names has other names too.
func aliased(path string) bool {
	return strings.HasPrefix(path, "*") || strings.HasPrefix(path, "at") || strings.HasPrefix(path, "global") || strings.HasPrefix(path, "own")
}

func writeHalf(t *testing.T, random *rand.Rand, exe string, truth [][]string) (written int) {
	c := start(t, binary("clew")).dial()
	c.initialize()
	c.ok("launch", object{"mode": "exec", "program": exe, "outputMode": "remote"})
	c.event("initialized")
	c.ok("configurationDone", nil)
	thread := threadOf(t, c.event("stopped"))
	frames := make(map[string]int64)
	for _, f := range c.stack(thread, 0, 50).StackFrames {
		if name := functionName.FindString(f.Name); name != "" {
			frames[name] = f.ID
		}
	}
	want := make([]string, len(truth))
	for i, leaf := range truth {
		want[i] = leaf[3]
		if random.IntN(2) == 0 || aliased(leaf[2]) || strings.Contains(leaf[3], ".") || frames[leaf[1]] == 0 {
			continue
		}
		of := c.ok("evaluate", object{"expression": leaf[2], "frameId": frames[leaf[1]], "context": "watch"})
		if kind, _ := of["type"].(string); strings.Contains(kind, "const") {
			continue // the compiler has written the value into the code
		}
		before := map[bool]string{true: "0", false: "1"}[leaf[3] != "0"] // what every type has room for
		m := c.request("setExpression", object{"expression": leaf[2], "value": before, "frameId": frames[leaf[1]]})
		if m.Success {
			want[i] = before
			written++
		} else if !strings.Contains(string(m.Bytes()), "more than 1 bits") && !strings.Contains(string(m.Bytes()), "can be written") {
			t.Errorf("%s = %s: %s", leaf[2], before, m.Bytes())
		}
	}
	var text strings.Builder
	c.ok("continue", object{"threadId": thread})
	c.until("the end", func(m *dapwire.Message) bool {
		if m.Event == "output" {
			s, _ := body(t, m)["output"].(string)
			text.WriteString(s)
		}
		return m.Event == "terminated"
	})
	after := truthLine.FindAllStringSubmatch(text.String(), -1)
	if len(after) != len(truth) {
		t.Fatalf("%d lines, want %d: %.300s", len(after), len(truth), text.String())
	}
	for i, leaf := range after {
		if same := fmt.Sprint(leaf[3]) == want[i]; !same && !(truth[i][3] != leaf[3] && want[i] == "1" && leaf[3] == "-1") { // a field of one bit
			t.Errorf("%s of %s is %s, was %s, want %s", leaf[2], leaf[1], leaf[3], truth[i][3], want[i])
		}
	}
	c.disconnect()
	return written
}
