package interpose

import (
	"encoding/binary"
	"testing"

	"github.com/go-delve/delve/pkg/dwarf/op"
	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/unwind"
)

const brkAt = 0x497854

// brkProcess is a process with one thread.
type brkProcess struct {
	proc.Process
	goarch      string
	breakpoints proc.BreakpointMap
	thread      *brkThread
}

func (p *brkProcess) BinInfo() *proc.BinaryInfo        { return proc.NewBinaryInfo("linux", p.goarch, false) }
func (p *brkProcess) Breakpoints() *proc.BreakpointMap { return &p.breakpoints }
func (p *brkProcess) ThreadList() []proc.Thread        { return []proc.Thread{p.thread} }

// brkThread stands in code that is the same word everywhere.
type brkThread struct {
	proc.Thread
	pc    uint64
	code  uint32
	state proc.BreakpointState
}

func (t *brkThread) ThreadID() int                        { return 7 }
func (t *brkThread) Registers() (proc.Registers, error)   { return brkRegisters{thread: t}, nil }
func (t *brkThread) Breakpoint() *proc.BreakpointState    { return &t.state }
func (t *brkThread) ProcessMemory() proc.MemoryReadWriter { return brkMemory{thread: t} }

func (t *brkThread) SetReg(reg uint64, to *op.DwarfRegister) error {
	if reg == uint64(unwind.ARM64PC) {
		t.pc = to.Uint64Val
	}
	return nil
}

type brkRegisters struct {
	proc.Registers
	thread *brkThread
}

func (r brkRegisters) PC() uint64 { return r.thread.pc }

type brkMemory struct {
	proc.MemoryReadWriter
	thread *brkThread
}

func (m brkMemory) ReadMemory(p []byte, _ uint64) (int, error) {
	return copy(p, binary.LittleEndian.AppendUint32(nil, m.thread.code)), nil
}

// TestPassBrk: before it goes on, a thread moves behind the arm64 breakpoint instruction of
// the program's own at which it has stopped, be it that a breakpoint of a user's lies there. One that
// has not stopped there, or where the program has another instruction, stays.
func TestPassBrk(t *testing.T) {
	const nop, brk0, brk77 = 0xd503201f, 0xd4200000, 0xd42009a0
	for name, tc := range map[string]struct {
		goarch string
		code   uint32 // in memory
		under  uint32 // the program's own word under the user's breakpoint; 0: no breakpoint
		marked bool
		halted bool // at the user's breakpoint
		pc     uint64
		want   uint64
	}{
		"marked":                       {"arm64", brk77, 0, true, false, brkAt, brkAt + 4},
		"at a breakpoint on it":        {"arm64", brk0, brk77, false, true, brkAt, brkAt + 4},
		"marked, then a breakpoint":    {"arm64", brk0, brk77, true, false, brkAt, brkAt + 4},
		"a breakpoint on another":      {"arm64", brk0, nop, false, true, brkAt, brkAt},
		"not stopped at it":            {"arm64", brk0, brk77, false, false, brkAt, brkAt},
		"moved since":                  {"arm64", brk0, brk77, false, true, brkAt + 8, brkAt + 8},
		"not marked":                   {"arm64", brk77, 0, false, false, brkAt, brkAt},
		"the same bytes on amd64":      {"amd64", brk0, brk77, false, true, brkAt, brkAt},
		"amd64, as if it were marked":  {"amd64", brk77, 0, true, false, brkAt, brkAt},
		"moved since, but it is a brk": {"arm64", brk77, brk77, false, true, brkAt + 4, brkAt + 4},
	} {
		thread := &brkThread{pc: tc.pc, code: tc.code}
		target := &proc.Target{Process: &brkProcess{goarch: tc.goarch, thread: thread, breakpoints: proc.NewBreakpointMap()}}
		if tc.under != 0 {
			target.Breakpoints().M[brkAt] = &proc.Breakpoint{Addr: brkAt, OriginalData: binary.LittleEndian.AppendUint32(nil, tc.under)}
		}
		if tc.halted {
			thread.state.Breakpoint, thread.state.Active = target.Breakpoints().M[brkAt], true
		}
		marked := map[int]uint64{}
		if tc.marked {
			marked[thread.ThreadID()] = brkAt
		}
		if err := passBrk(target, marked); err != nil || thread.pc != tc.want {
			t.Errorf("%s: at %#x, %v; want %#x", name, thread.pc, err, tc.want)
		}
		if tc.want != tc.pc && (thread.state.Breakpoint != nil || thread.state.Active) {
			t.Errorf("%s: Delve would pass over a breakpoint at the next instruction", name)
		}
		if tc.want == tc.pc && tc.halted && thread.state.Breakpoint == nil {
			t.Errorf("%s: Delve would stop at the same breakpoint again", name)
		}
	}
}
