package interpose

import (
	"slices"
	"strconv"
	"syscall"

	"github.com/go-delve/delve/pkg/dwarf/op"
	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/delve/delvelog"
	"github.com/clewdbg/clew/server/internal/procfs"
)

// Delve halts a process by sending it SIGTRAP, and a breakpoint is a SIGTRAP too.
// Where both come at once, Delve takes one of them for the stop. The other one
// is still pending when it detaches, and then kills the process, which is not
// debugged any more: of processes with a breakpoint that is hit often (one with a
// condition, which the user need not even notice), every second one that Delve
// leaves while they run.
//
// And Delve removes the user's breakpoints only: those of a step that was
// interrupted, or that is under way when the client leaves, stay in the code and
// kill the process when it reaches one.
//
// So before clew detaches from a process ([Runner.Detach]), it removes every
// breakpoint, and has threads take the pending signals: a thread that is to execute
// one instruction takes the signal first, stops for it, and executes nothing. A
// thread for which a SIGTRAP is pending has just executed a breakpoint instruction:
// its program counter is set back to that.
// Tests: integration/dap TestPendingTrap, TestLeaveMidStep.

// maxTraps bounds the signals that are taken from one process: at most one is pending
// for each thread, and one for the process.
const maxTraps = 1 << 16

// release removes from a process of a group all that would kill it when no debugger
// handles it. The caller holds the group's lock.
func release(group *proc.TargetGroup, pid int) {
	i := slices.IndexFunc(group.Targets(), func(t *proc.Target) bool { return t.Pid() == pid })
	if recorded, _ := group.Recorded(); recorded || i < 0 {
		return
	}
	t := group.Targets()[i]
	g, err := guardOf(t, false)
	if valid, _ := t.Valid(); !valid || err != nil || g == nil {
		return
	}
	g.release()
	group.Selected = t
	for range maxTraps {
		thread, directed := trapPending(t)
		if thread == nil {
			break
		}
		if err := g.takeTrap(group, t, thread, directed); err != nil {
			delvelog.DAPError("process %d: a pending SIGTRAP: %v", pid, err)
			break
		}
	}
	clearAll(t)
}

// clearAll removes all breakpoints, those of a step included.
func clearAll(t *proc.Target) {
	for addr, bp := range t.Breakpoints().M {
		bp.Breaklets = nil // a step's, which Delve would leave there
		if err := t.ClearBreakpoint(addr); err != nil {
			delvelog.DAPError("process %d: the breakpoint at %#x: %v", t.Pid(), addr, err)
		}
	}
}

// trapPending finds a thread that would take a pending SIGTRAP; directed says that it
// was sent to this thread, not to the process.
func trapPending(t *proc.Target) (thread proc.Thread, directed bool) {
	for _, th := range t.ThreadList() {
		status, err := procfs.ReadStatus(th.ThreadID())
		if err != nil || hasTrap(status, "SigBlk") {
			continue
		}
		if hasTrap(status, "SigPnd") {
			return th, true
		}
		if hasTrap(status, "ShdPnd") {
			return th, false
		}
	}
	return nil, false
}

// hasTrap says that SIGTRAP is in a set of signals of a thread's status.
func hasTrap(status procfs.Status, set string) bool {
	mask, err := strconv.ParseUint(status.Field(set), 16, 64)
	return err == nil && mask>>(syscall.SIGTRAP-1)&1 != 0
}

// takeTrap has a thread take its SIGTRAP.
func (g *guard) takeTrap(group *proc.TargetGroup, t *proc.Target, thread proc.Thread, directed bool) error {
	if err := t.SwitchThread(thread.ThreadID()); err != nil {
		return err
	}
	before, err := thread.Registers()
	if err != nil {
		return err
	}
	pc := before.PC() // the registers may be read anew in place
	if err := group.StepInstruction(false); err != nil {
		return err
	}
	after, err := thread.Registers()
	if err != nil {
		return err
	}
	arch := t.BinInfo().Arch
	if at := pc - uint64(len(arch.BreakpointInstruction())); directed && arch.BreakInstrMovesPC() && after.PC() == pc && g.written[at] {
		return thread.SetReg(arch.PCRegNum, op.DwarfRegisterFromUint64(at))
	}
	return nil
}
