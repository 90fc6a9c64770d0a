package interpose

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/go-delve/delve/pkg/dwarf/op"
	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/delve/targets"
	"github.com/clewdbg/clew/unwind"
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
	if state.Breakpoint != nil || !thread.SoftExc() {
		return
	}
	if !target.BinInfo().Arch.BreakInstrMovesPC() {
		markBrk(target, thread)
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
		StopAt(target, thread, loc.PC)
	}
}

// markBrk marks a thread that stands at a breakpoint instruction of the program's own
// on linux/arm64. Delve marks only "brk #0" inside a function that it knows: at all others
// it lets the program go on at the same instruction, for ever. The thread is left
// there, since no code need follow: a trap may be its function's last instruction. It is moved
// behind when it goes on ([passBrk]). Test: integration/arm64, brk.
func markBrk(target *proc.Target, thread proc.Thread) {
	loc, err := proc.ThreadLocation(thread)
	if err != nil || !atBrk(target, thread, loc.PC) || target.Breakpoints().M[loc.PC] != nil {
		return
	}
	if loc.Fn != nil && (loc.Fn.Name == "runtime.breakpoint" || strings.HasPrefix(loc.Fn.NameWithoutTypeParams(), "runtime.debugCall") ||
		strings.HasPrefix(loc.Fn.Name, "debugCall")) {
		return // Delve leaves the one, and calls functions by the others
	}
	StopAt(target, thread, loc.PC)
}

// atBrk says that there is an arm64 breakpoint instruction of the program's own at pc,
// whatever its number, be it under one that Delve has written.
func atBrk(target *proc.Target, thread proc.Thread, pc uint64) bool {
	if targets.Arch(target) != unwind.ARM64 || target.BinInfo().GOOS != "linux" {
		return false
	}
	code := make([]byte, 4)
	if bp := target.Breakpoints().M[pc]; bp != nil && len(bp.OriginalData) == len(code) {
		code = bp.OriginalData
	} else if n, err := thread.ProcessMemory().ReadMemory(code, pc); n != len(code) || err != nil {
		return false
	}
	return binary.LittleEndian.Uint32(code)&^(0xffff<<5) == 0xd4200000
}

// passBrk moves threads behind the arm64 breakpoint instruction at which they have stopped,
// before they go on: by their mark, or by a breakpoint of a user's that lies there. To pass
// that one Delve executes the program's own, which the processor does not go beyond. Threads
// that Delve or a user has moved stay where they are. (Delve takes the marks off before.)
// Test: TestPassBrk.
func passBrk(target *proc.Target, marked map[int]uint64) error {
	for _, thread := range target.ThreadList() {
		at, ok := marked[thread.ThreadID()]
		if bp := thread.Breakpoint().Breakpoint; bp != nil && target.Breakpoints().M[bp.Addr] == bp {
			at, ok = bp.Addr, true
		}
		if !ok {
			continue
		}
		regs, err := thread.Registers()
		if err != nil {
			return err
		}
		if regs.PC() != at {
			continue
		}
		if _, err := skipBrk(target, thread); err != nil {
			return err
		}
	}
	return nil
}

// markedBrks are the threads with a mark that stand at the instruction, and where that is.
func markedBrks(target *proc.Target) map[int]uint64 {
	marked := make(map[int]uint64)
	for _, thread := range target.ThreadList() {
		if bp := thread.Breakpoint().Breakpoint; bp != nil && bp.LogicalID() == internals.HardcodedID {
			marked[thread.ThreadID()] = bp.Addr
		}
	}
	return marked
}

// skipBrk moves a thread behind the arm64 breakpoint instruction of the program's own
// at which it stands, if there is one.
func skipBrk(target *proc.Target, thread proc.Thread) (skipped bool, err error) {
	if targets.Arch(target) != unwind.ARM64 {
		return false, nil
	}
	regs, err := thread.Registers()
	if err != nil {
		return false, err
	}
	pc := regs.PC()
	if !atBrk(target, thread, pc) {
		return false, nil
	}
	if err := thread.SetReg(uint64(unwind.ARM64PC), op.DwarfRegisterFromUint64(pc+4)); err != nil {
		return false, err
	}
	thread.Breakpoint().Clear() // or Delve would pass over one at the next instruction
	return true, nil
}

// StopAt makes Delve stop as if the thread had executed a breakpoint instruction
// of the program's own before pc.
func StopAt(target *proc.Target, thread proc.Thread, pc uint64) {
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
