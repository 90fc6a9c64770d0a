package glance

import (
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/internal/procfs"
)

// TestPACMask: the mask that is derived from a process's mappings is the kernel's own. A kernel with addresses of 52 bits
// puts nothing above 47 or 48 bits unless it is asked: there the mask has the bits between, too, which are 0 in all
// addresses that are in use.
func TestPACMask(t *testing.T) {
	testneed.Ptrace(t)
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed is what we want
	}()
	const pacMask = 0x406 // NT_ARM_PAC_MASK: two words, of data's and of code's addresses
	var regs unix.PtraceRegsArm64
	_, err := whileStopped(cmd.Process.Pid, 0, func(time.Time, []stopped) error {
		return unix.PtraceGetRegSetArm64(cmd.Process.Pid, pacMask, &regs)
	})
	if signs := procfs.Signs(cmd.Process.Pid); signs != (err == nil) {
		t.Fatalf("the processor signs: %v; the kernel's register set: %v", signs, err)
	}
	if err != nil {
		t.Logf("the processor has no pointer authentication: %v", err)
		return
	}
	maps, err := procfs.Maps(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	const of52 = 0x70 << 48 // the kernel's, with addresses of 52 bits
	got, want := procfs.PACMask(maps), regs.Regs[1]
	if want == 0 || want&^got != 0 || got != want && want != of52 {
		t.Errorf("derived %#x, the kernel has %#x", got, want)
	}
	for _, m := range maps {
		if (m.Start|(m.End-1))&got != 0 {
			t.Errorf("the mask %#x has bits of the address %#x", got, m.End)
		}
	}
	t.Logf("mask %#x, the kernel has %#x", got, want)
}
