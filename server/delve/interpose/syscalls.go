package interpose

import (
	"bytes"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/delve/targets"
	"github.com/clewdbg/clew/unwind"
)

// Before others go on, Delve steps each thread over the breakpoint at which it stands, alone. Where that executes a system call that waits for
// what another thread does, it waits for ever, and Delve with it. So
//
//   - no breakpoint of a step lies at a system call (steps by line do so in assembly, where the call is a line of its own);
//   - a thread that was stopped in a system call is not stepped over a breakpoint behind it: it has not got there. When it goes on, the kernel puts
//     it back, and the call begins again; the breakpoint stops it once the call returns.
//
// What remains are breakpoints that a user has set at the very instruction, and steps by one instruction. Test: TestStepsInCall.

// systemCalls are the instructions that enter the kernel.
var systemCalls = map[unwind.Arch][]byte{unwind.AMD64: {0x0f, 0x05}, unwind.ARM64: {0x01, 0x00, 0x00, 0xd4}}

// The results with which the kernel marks a call that begins again (include/linux/errno.h, ERESTARTSYS to ERESTART_RESTARTBLOCK). No
// program sees one.
const firstRestart, lastRestart = -516, -512

// freeCalls has no thread step over a system call before the others go on.
func (r *Runner) freeCalls() error {
	for _, target := range r.group.Targets() {
		if valid, _ := target.Valid(); !valid {
			continue
		}
		enter := systemCalls[targets.Arch(target)]
		for _, bp := range stepsAlone(target.Breakpoints().M) {
			if !bytes.HasPrefix(enter, bp.OriginalData) || !isCode(target, bp.Addr, enter) {
				continue
			}
			if err := putBehind(target, bp, bp.Addr+uint64(len(enter))); err != nil {
				return err
			}
		}
		for _, thread := range target.ThreadList() {
			if thread.Breakpoint().Breakpoint != nil && beginsAgain(target, thread, enter) {
				thread.Breakpoint().Clear()
			}
		}
	}
	return nil
}

// beginsAgain says that the kernel puts a thread back to the system call behind which it stands.
func beginsAgain(target *proc.Target, thread proc.Thread, enter []byte) bool {
	regs, _, err := targets.Registers(thread)
	if err != nil {
		return false // Delve will say so
	}
	result, _ := regs.Get(0) // RAX, or X0
	pc, _ := regs.Get(targets.Arch(target).PC())
	return int64(result) >= firstRestart && int64(result) <= lastRestart && isCode(target, pc-uint64(len(enter)), enter)
}

// isCode says whether the program has that code at an address.
func isCode(target *proc.Target, addr uint64, want []byte) bool {
	code := make([]byte, len(want))
	if n, err := target.Memory().ReadMemory(code, addr); n != len(code) || err != nil {
		return false
	}
	targets.PutOriginal(target, addr, code)
	return bytes.Equal(code, want)
}
