package dap

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestContainersRead: containers of libstdc++ and libc++ are shown as the program itself writes them down, from none to many elements, moved
// from too. What is not initialized is shown raw, at once.
func TestContainersRead(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	for name, compiler := range map[string][]string{
		"gcc": {testneed.Tool(t, "g++")}, "clang": {testneed.Tool(t, "clang++")}, "libc++": {testneed.Tool(t, "clang++"), "-stdlib=libc++"},
		"gcc DWARF 4": {testneed.Tool(t, "g++"), "-gdwarf-4"},
	} {
		t.Run(name, func(t *testing.T) {
			exe := filepath.Join(t.TempDir(), "containers")
			if out, err := exec.Command(compiler[0], append(compiler[1:], "-std=c++17", "-g", "-O0", "testdata/containers.cc", "-o", exe)...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			readHeld(t, exe)
		})
	}
}

var (
	heldLine = regexp.MustCompile(`(?m)^(?:value (.*?) = (.*)|stop|garbage)$`)
	// owners are containers that point to what they hold, and garbage points nowhere.
	owners = []string{"vector", "deque", "list", "chain", "map", "shorts", "keyed", "set", "hashed", "hashes"}
)

// readHeld compares what a program holds at its stops with what it writes about it.
func readHeld(t *testing.T, exe string) {
	// It runs by itself first: each line is about the stop that follows.
	out, err := exec.Command(testneed.Tool(t, "gdb"), "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "handle SIGTRAP nostop noprint nopass", "-ex", "run", exe).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := start(t, binary("clew")).dial()
	c.initialize()
	c.ok("launch", object{"mode": "exec", "program": exe, "outputMode": "remote"})
	c.event("initialized")
	c.ok("configurationDone", nil)
	var wanted [][]string
	var compared int
	for _, line := range heldLine.FindAllStringSubmatch(string(out), -1) {
		if line[0] != "stop" && line[0] != "garbage" {
			wanted = append(wanted, line[1:])
			continue
		}
		thread := threadOf(t, c.event("stopped"))
		frame := c.stack(thread, 0, 50).StackFrames[1]
		value := func(expression string) string {
			m := c.request("evaluate", object{"expression": expression, "frameId": frame.ID, "context": "watch"})
			var body struct{ Result string }
			if !m.Success || m.Decode("body", &body) != nil {
				return string(m.Bytes())
			}
			return body.Result
		}
		for _, w := range wanted {
			compared++
			got := value(w[0])
			if cut, _, ok := strings.Cut(got, "…"); ok && len(cut) > 1000 { // a long text is cut
				got, w[1] = cut, w[1][:min(len(cut), len(w[1]))]
			}
			if got != w[1] && !(w[1] == "" && !strings.Contains(got, "unknown")) {
				t.Errorf("%s: %s is %s, want %s", frame.Name, w[0], got, w[1])
			}
		}
		wanted = nil
		if line[0] == "garbage" {
			for _, member := range owners {
				began := time.Now()
				got := value("garbage." + member)
				if took := time.Since(began); !strings.HasPrefix(got, "{") && !strings.HasPrefix(got, "<unknown") || took > testneed.Patience(2*time.Second) {
					t.Errorf("%s: what is not initialized, %s, is %s after %v", frame.Name, member, got, took)
				}
			}
		}
		c.ok("continue", object{"threadId": thread})
	}
	if compared == 0 {
		t.Errorf("nothing was compared")
	}
	t.Logf("%d values", compared)
	c.disconnect()
}
