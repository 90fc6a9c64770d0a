package dap

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
)

// TestImageProblemOnce: the fault of an image's tables comes in the debug
// console, with the field and its offset, and once in a session: however often
// stacks that go through it are asked for. The frames above are there.
func TestImageProblemOnce(t *testing.T) {
	testneed.Ptrace(t)
	v, _ := program.Named("opened-O2-sframe-v3-stripped")
	p := native(t, v.Name)
	data, err := os.ReadFile(p.Library)
	if err != nil {
		t.Fatal(err)
	}
	header := bytes.Index(data, []byte("\xe2\xde\x03\x05\x03"))
	if header < 0 {
		t.Fatal("the library has no SFrame")
	}
	data[header+2] = 9
	p.Library = filepath.Join(t.TempDir(), "libnative.so")
	if err := os.WriteFile(p.Library, data, 0o600); err != nil {
		t.Fatal(err)
	}

	c := start(t, binary("clew")).dial()
	thread := threadOf(t, c.launch(object{"mode": "exec", "program": p.Path,
		"args": []string{"plain", "int3", filepath.Join(t.TempDir(), "record")}, "env": p.Variables()}))
	for _, levels := range []int{1, 20, 50} {
		if got := c.stack(thread, 0, levels); len(got.StackFrames) == 0 {
			t.Errorf("no frames: %+v", got)
		}
	}
	c.ok("clew/stack", object{"threadId": thread})
	c.disconnect()
	count := 0
	for _, m := range c.all {
		if m.Event != "output" {
			continue
		}
		if text, _ := body(t, m)["output"].(string); strings.Contains(text, ".sframe+0x2: sfp_version: version 9 is not known") {
			count++
			if !strings.Contains(text, p.Library) {
				t.Errorf("%q does not name the image", text)
			}
		}
	}
	if count != 1 {
		t.Errorf("it is reported %d times: %s", count, c.transcript())
	}
}
