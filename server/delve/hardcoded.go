package delve

import (
	"slices"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/delve/internals"
)

// A breakpoint instruction that the program itself contains stops it under
// Delve only in functions that Delve knows; anywhere else (C code without
// DWARF, a stripped library, JIT code) it is passed over silently, and a
// program that reports an error by int3 runs on. So threads are marked as
// Delve would mark them, if it knew the function, before Delve handles the stop.
// The state that is set is public API (proc.Thread.Breakpoint).
// Test: integration TestInt3InUnknownCode.

const int3 = 0xcc

// markHardcoded marks a thread that has just executed a breakpoint instruction
// of the program's own in code of no known function.
func markHardcoded(target *proc.Target, thread proc.Thread) {
	state := thread.Breakpoint()
	if state.Breakpoint != nil || !thread.SoftExc() || !target.BinInfo().Arch.BreakInstrMovesPC() {
		return
	}
	loc, err := proc.ThreadLocation(thread)
	if err != nil || loc.Fn != nil {
		return // Delve handles functions that it knows
	}
	var code [1]byte
	if n, err := thread.ProcessMemory().ReadMemory(code[:], loc.PC-1); n != 1 || err != nil || code[0] != int3 {
		return
	}
	if target.Breakpoints().M[loc.PC-1] == nil {
		stopAt(target, thread, loc.PC)
	}
}

// stopAt makes Delve stop as if the thread had executed a breakpoint instruction
// of the program's own before pc.
func stopAt(target *proc.Target, thread proc.Thread, pc uint64) {
	mark := &proc.Breakpoint{
		Addr:      pc,
		Logical:   &proc.LogicalBreakpoint{Name: proc.HardcodedBreakpoint, HitCount: map[int64]uint64{}},
		Breaklets: []*proc.Breaklet{{Kind: proc.UserBreakpoint, LogicalID: internals.HardcodedID}},
	}
	mark.Breaklets[0].SetCallback(func(proc.Thread, *proc.Target) (bool, error) {
		*mark.Logical = proc.LogicalBreakpoint{Name: proc.HardcodedBreakpoint} // Delve does not count such stops
		return true, nil
	})
	state := thread.Breakpoint()
	state.Active, state.Breakpoint = true, mark
	target.StopReason = proc.StopHardcodedBreakpoint
}

// hasMark says that a thread of the target was marked at this stop.
func hasMark(target *proc.Target) bool {
	return slices.ContainsFunc(target.ThreadList(), func(thread proc.Thread) bool {
		bp := thread.Breakpoint().Breakpoint
		return bp != nil && bp.LogicalID() == internals.HardcodedID
	})
}
