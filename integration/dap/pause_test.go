package dap

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestPauseAfterAttach: a program with libraries can be paused when it was attached to.
// (Delve does not answer.)
func TestPauseAfterAttach(t *testing.T) {
	testneed.Ptrace(t)
	p := native(t, "static-O1-g-fp")
	cmd := exec.Command(p.Path, "many", "syscall", filepath.Join(t.TempDir(), "record"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed is what we want
	}()
	c := start(t, binary("clew")).dial()
	c.initialize()
	c.ok("attach", object{"mode": "local", "processId": cmd.Process.Pid})
	c.event("initialized")
	c.ok("configurationDone", nil)
	for range 3 {
		c.ok("pause", object{"threadId": 1})
		c.event("stopped")
		c.ok("continue", object{"threadId": 1})
	}
	c.ok("disconnect", nil)
	c.end()
}
