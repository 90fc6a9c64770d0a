package dap

import (
	"math"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestLargeRequests: a request for more than an editor needs is refused at once, and says how much it may be. Delve would answer a list
// of ten million instructions with gigabytes.
func TestLargeRequests(t *testing.T) {
	testneed.Ptrace(t)
	exe, source := plain(t)
	c := start(t, binary("clew")).dial()
	thread := threadOf(t, c.launch(object{"mode": "exec", "program": exe, "args": []string{"deep", "3"}}))
	at := c.stack(thread, 0, 1).StackFrames[0].PC
	lines := make([]object, 5000)
	for i := range lines {
		lines[i] = object{"line": i + 1}
	}
	for _, r := range []struct {
		command, says string
		arguments     object
	}{
		{"disassemble", "at most 65536", object{"memoryReference": at, "instructionCount": 10_000_000}},
		{"disassemble", "at most 65536", object{"memoryReference": at, "instructionCount": 10, "instructionOffset": -10_000_000}},
		{"disassemble", "at most 65536", object{"memoryReference": at, "instructionCount": 10, "instructionOffset": math.MinInt64}},
		{"setBreakpoints", "at most 4096", object{"source": object{"path": source + "/main.go"}, "breakpoints": lines}},
	} {
		m := c.request(r.command, r.arguments)
		if text := string(m.Bytes()); m.Success || !strings.Contains(text, r.says) {
			t.Errorf("%s: %.300s", r.command, text)
		}
	}
	c.ok("disassemble", object{"memoryReference": at, "instructionCount": 300, "instructionOffset": -100})
	c.disconnect()
}
