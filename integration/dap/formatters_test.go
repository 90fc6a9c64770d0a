package dap

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// ringed is a program with a container of its own, and one that leads to itself.
const ringed = `struct Ring { int *slots; unsigned first, used, capacity; };
struct Loop { struct Loop *next; int n; };
struct Chain { unsigned long n; };
void stop(void) { __asm__ volatile("int3" ::: "memory"); }
__thread int own = 5;
int main(void) {
	int slots[4] = {30, 40, 10, 20};
	struct Ring ring = {slots, 2, 4, 4};
	struct Loop loop = {&loop, 1};
	struct Chain chain = {1};
	own++;
	stop();
	return ring.used + loop.n + (int)chain.n;
}
`

// TestOwnFormatters: formatters of the user's configuration count. One that does not end ends, and says so or shows the value raw. A variable of
// the thread is read.
func TestOwnFormatters(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	config := `{"formatters": [
		{"type": "^struct Ring$", "kind": "each", "count": "used", "item": "slots[(first + $i) % capacity]"},
		{"type": "^struct Loop$", "kind": "same", "value": "*next"},
		{"type": "^struct Chain$", "kind": "list", "head": "this.n ? (unsigned long *)&this : 0", "next": "&this", "item": "this"}]}`
	source, exe := filepath.Join(dir, "ring.c"), filepath.Join(dir, "ring")
	for path, text := range map[string]string{filepath.Join(dir, "clew", "clew.json"): config, source: ringed} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(testneed.CC(t), "-g", "-O0", source, "-o", exe).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := start(t, binary("clew")).dial()
	c.initialize()
	c.ok("launch", object{"mode": "exec", "program": exe, "outputMode": "remote"})
	c.event("initialized")
	c.ok("configurationDone", nil)
	frame := c.stack(threadOf(t, c.event("stopped")), 0, 50).StackFrames[1]
	for expression, want := range map[string]string{"ring": "4 elements {10, 20, 30, 40}", "ring[3]": "40", "ring.used": "4", "loop": "…", "loop.n": "1", "chain": "{n = 1}", "own": "6"} {
		began := time.Now()
		m := c.request("evaluate", object{"expression": expression, "frameId": frame.ID, "context": "watch"})
		var body struct{ Result string }
		if !m.Success || m.Decode("body", &body) != nil || body.Result != want && !(want == "…" && strings.HasSuffix(body.Result, want)) {
			t.Errorf("%s is %s, want %s", expression, m.Bytes(), want)
		}
		if took := time.Since(began); took > testneed.Patience(2*time.Second) {
			t.Errorf("%s takes %v", expression, took)
		}
	}
	c.disconnect()
}
