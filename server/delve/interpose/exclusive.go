package interpose

import (
	"encoding/binary"
	"slices"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/delve/targets"
	"github.com/clewdbg/clew/server/internal/exclusive"
	"github.com/clewdbg/clew/unwind"
)

// On arm64 a stop between a load and a store that belong together takes the thread's reservation
// away (package exclusive), and the code goes back to the load. Delve steps single instructions
// there, and over each breakpoint: neither ever comes to the end of such a sequence. So
//
//   - an instruction that is stepped at the load is the whole sequence;
//   - a thread that goes on from a breakpoint at the load, or inside, runs through it first;
//   - no breakpoint of a step lies inside.
//
// While it runs through, the process's other threads stand, and it has breakpoints where
// the sequence is left alone. Test: integration/arm64, exclusive.

// sequences finds them in a process whose threads stand.
type sequences struct {
	target *proc.Target
	thread proc.Thread // by which memory is read
}

// sequencesOf is nil where there are none to find.
func sequencesOf(target *proc.Target) *sequences {
	if targets.Arch(target) != unwind.ARM64 || target.BinInfo().GOOS != "linux" {
		return nil
	}
	threads := target.ThreadList()
	if len(threads) == 0 {
		return nil
	}
	return &sequences{target, threads[0]}
}

// code is the program's own, without breakpoints.
func (s *sequences) code(addr uint64, n int) []byte {
	code := make([]byte, n)
	n, err := s.thread.ProcessMemory().ReadMemory(code, addr)
	if err != nil {
		return nil
	}
	code = code[:n]
	for i := 0; i < n; i += exclusive.Size {
		if bp := s.breakpoint(addr + uint64(i)); bp != nil {
			copy(code[i:], bp.OriginalData)
		}
	}
	return code
}

// breakpoint is the one whose instruction is written at an address, nil for none.
func (s *sequences) breakpoint(addr uint64) *proc.Breakpoint {
	if bp := s.target.Breakpoints().M[addr]; bp != nil && bp.WatchType == 0 {
		return bp
	}
	return nil
}

func (s *sequences) around(pc uint64) (exclusive.Sequence, bool) {
	return exclusive.Around(s.code, pc)
}

// free takes the breakpoints of a step out of sequences.
func (s *sequences) free() error {
	for _, bp := range stepsAlone(s.target.Breakpoints().M) {
		if sequence, ok := s.around(bp.Addr); ok && sequence.Inside(bp.Addr) {
			if err := putBehind(s.target, bp, sequence.End); err != nil {
				return err
			}
		}
	}
	return nil
}

// putBehind takes back a breakpoint of a step. What it stands for, the line's code at end does, where that is the same line's.
func putBehind(target *proc.Target, bp *proc.Breakpoint, end uint64) error {
	process, err := internals.Process(target)
	if err != nil {
		return err
	}
	all := target.Breakpoints().M
	if file, line, _ := target.BinInfo().PCToLine(end); file == bp.File && line == bp.Line && all[end] == nil {
		moved, err := target.SetBreakpoint(0, end, proc.NextBreakpoint, nil)
		if err != nil {
			return err
		}
		moved.Breaklets = bp.Breaklets
	}
	if err := (*process).EraseBreakpoint(bp); err != nil {
		return err
	}
	delete(all, bp.Addr)
	return nil
}

// stepsAlone are the breakpoints that a step alone has placed.
func stepsAlone(all map[uint64]*proc.Breakpoint) (found []*proc.Breakpoint) {
	for _, bp := range all {
		if bp.WatchType == 0 && bp.IsStepping() && bp.UserBreaklet() == nil {
			found = append(found, bp)
		}
	}
	return found
}

// freeSequences has no step end inside of sequences, and runs the threads that are to go on from a breakpoint at or in
// one through it.
func (r *Runner) freeSequences() error {
	for _, target := range r.group.Targets() {
		s := sequencesOf(target)
		if valid, _ := target.Valid(); !valid || s == nil {
			continue
		}
		if err := s.free(); err != nil {
			return err
		}
		for _, thread := range target.ThreadList() {
			bp := thread.Breakpoint().Breakpoint
			if bp == nil || s.breakpoint(bp.Addr) != bp {
				continue
			}
			regs, err := thread.Registers()
			if err != nil {
				return err
			}
			if sequence, ok := s.around(regs.PC()); ok && regs.PC() == bp.Addr {
				if _, err := s.through(thread, &sequence); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// stepSequence steps a whole sequence of a thread that stands at its load.
func (r *Runner) stepSequence(id int) (stepped bool, err error) {
	for _, target := range r.group.Targets() {
		thread, ok := target.FindThread(id)
		if !ok {
			continue
		}
		s := sequencesOf(target)
		if s == nil {
			return false, nil
		}
		regs, err := thread.Registers()
		if err != nil {
			return false, err
		}
		sequence, ok := exclusive.At(s.code(regs.PC(), (exclusive.Most+2)*exclusive.Size), regs.PC())
		if !ok {
			return false, nil
		}
		return s.through(thread, &sequence)
	}
	return false, nil
}

// brk0 is arm64's breakpoint instruction.
const brk0 = 0xd4200000

// through has a thread run to an exit of the sequence in which it stands. It returns false if the thread still stands where it
// stood: it waits for others, or Delve does not trace the process itself.
func (s *sequences) through(thread proc.Thread, sequence *exclusive.Sequence) (passed bool, err error) {
	held, err := internals.Process(s.target)
	if err != nil {
		return false, err
	}
	process := *held
	if g, ok := process.(*guard); ok {
		process = g.ProcessInternal
	}
	trace, err := internals.Tracer(process)
	if trace == nil || err != nil {
		return false, err
	}
	before, err := thread.Registers()
	if err != nil {
		return false, err
	}
	restore, err := s.open(sequence)
	if err == nil {
		err = runAlone(trace, s.target.Pid(), thread.ThreadID())
	}
	if restored := restore(); err == nil {
		err = restored
	}
	if err != nil {
		return false, err
	}
	after, err := thread.Registers()
	if err != nil {
		return false, err
	}
	if after.PC() == before.PC() {
		return false, nil
	}
	thread.Breakpoint().Clear() // or Delve would step it over one where it stood
	return true, nil
}

// open takes the breakpoints out of a sequence, and writes such at its exits. restore undoes both.
func (s *sequences) open(sequence *exclusive.Sequence) (restore func() error, err error) {
	memory, written := s.thread.ProcessMemory(), make(map[uint64][]byte)
	write := func(addr uint64, code []byte) error {
		before := make([]byte, len(code))
		if _, err := memory.ReadMemory(before, addr); err != nil {
			return err
		}
		if slices.Equal(before, code) {
			return nil
		}
		if _, err := memory.WriteMemory(addr, code); err != nil {
			return err
		}
		written[addr] = before
		return nil
	}
	restore = func() error {
		var failed error
		for addr, code := range written {
			if _, err := memory.WriteMemory(addr, code); err != nil && failed == nil {
				failed = err
			}
		}
		return failed
	}
	for addr := sequence.Load; addr < sequence.End; addr += exclusive.Size {
		if bp := s.breakpoint(addr); bp != nil {
			err = write(addr, bp.OriginalData)
		}
		if err != nil {
			return restore, err
		}
	}
	stop := binary.LittleEndian.AppendUint32(nil, brk0)
	for _, addr := range sequence.Exits {
		if s.executable(addr) {
			err = write(addr, stop)
		}
		if err != nil {
			return restore, err
		}
	}
	return restore, nil
}

// executable says whether a breakpoint may be written at an address.
func (s *sequences) executable(addr uint64) bool {
	held, err := internals.Process(s.target)
	if err != nil {
		return false
	}
	g, ok := (*held).(*guard)
	return !ok || g.check(addr) == nil
}
