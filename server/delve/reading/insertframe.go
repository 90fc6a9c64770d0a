package reading

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-delve/delve/pkg/dwarf/op"
	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/delve/targets"
	"github.com/clewdbg/clew/unwind"
)

// Delve shows variables only for frames of the stack that it walked itself, and a
// request names a frame by its index in that stack. So that Delve can answer about
// a frame that clew recovered, the frame is put into Delve's cached stack of the
// goroutine for one request (see walked.go). Delve then does everything else, from
// DWARF to the text of a value.
// Delve's code makes the frame too, as the innermost frame of a thread that has the
// recovered registers; clew replaces its CFA by the one that it found. The frame has
// no other registers: a variable in one of them cannot be read, and no register can
// be set.
// Tests: integration/scenarios locals, integration/terminal TestOwnFrames.

// RecoveredFrame is a frame that clew recovered and Delve does not have.
type RecoveredFrame struct {
	// Goroutine is the frame's goroutine, 0 for a thread without one.
	Goroutine, Thread uint64
	// Registers are the registers in the frame.
	Registers unwind.Registers
	// Lookup is the code address for names and rules, which is within the call (R9).
	Lookup, CFA uint64
	// Level counts the inlined calls from this row out to the function that has the
	// frame.
	Level int
	// StackHigh is the end of the goroutine's stack that the frame lies on, 0 for
	// other stacks.
	StackHigh uint64
}

// Recovered describes a frame of a thread's stack that clew recovered with these
// registers.
func Recovered(th *Thread, arch unwind.Arch, frames []unwind.Frame, index int, regs unwind.Registers) *RecoveredFrame {
	f := &frames[index]
	out := &RecoveredFrame{Goroutine: th.Goroutine, Thread: th.ID, Registers: regs, CFA: f.CFA, Lookup: uint64(f.PC.Lookup(arch))}
	for index+out.Level < len(frames) && frames[index+out.Level].Inlined {
		out.Level++
	}
	for _, s := range th.Segments {
		if s.Kind == unwind.SegmentGoroutine && s.Contains(f.CFA-1) {
			out.StackHigh = s.High
		}
	}
	return out
}

// InsertedFrame says how Delve names a frame that was inserted.
type InsertedFrame struct {
	Thread int64 // a goroutine's ID; 0 is the current thread
	Index  int   // in its stack
	// Release takes the frame out again. Until then no other client may ask Delve for
	// this stack.
	Release func()
}

// maxInlined bounds the calls that are inlined into one frame.
const maxInlined = 64

var errNotInserted = errors.New("the debugger cannot show this frame, which clew has recovered")

// InsertFrame puts a frame into Delve's stack. The target must not run until it is
// released.
func (s *Reader) InsertFrame(f *RecoveredFrame) (inserted InsertedFrame, err error) {
	defer func() {
		if r := recover(); r != nil { // Delve's code does not survive corrupt tables
			err = fmt.Errorf("%w: %v", errNotInserted, r)
		}
	}()
	group, unlock, err := s.program.Stopped()
	if err != nil {
		return inserted, err
	}
	defer unlock()
	t := group.Selected
	if valid, err := t.Valid(); !valid {
		return inserted, err
	}
	stacks, err := internals.StacksOf(t)
	if err != nil {
		return inserted, err
	}
	frames, index, err := f.rows(t)
	if err != nil {
		return inserted, err
	}
	at, err := f.slot(t, index)
	if err != nil {
		return inserted, err
	}
	remove, err := at.insert(stacks, frames, index)
	if err != nil {
		return inserted, err
	}
	release := func() {
		if _, unlock, err := s.program.Stopped(); err == nil { // else Delve has forgotten all stacks when it resumed the program
			defer unlock()
			remove()
		}
	}
	return InsertedFrame{Thread: int64(f.Goroutine), Index: index, Release: release}, nil
}

// Described says whether there is DWARF for the function at an address: without it
// a frame has no variables.
func (s *Reader) Described(addr uint64) bool {
	t, err := s.program.Target()
	if err != nil {
		return false
	}
	bi := t.BinInfo()
	image := bi.PCToImage(addr)
	return bi.PCToFunc(addr) != nil && image != nil && !image.Stripped()
}

// rows returns the stack to insert: the inlined calls, the physical frame, and that
// one again, because Delve needs a caller to know how far to read ahead. index is
// the row of f.
func (f *RecoveredFrame) rows(t *proc.Target) (frames []proc.Stackframe, index int, err error) {
	if frames, err = f.frames(t); err != nil {
		return nil, 0, err
	}
	physical := slices.IndexFunc(frames, func(f proc.Stackframe) bool { return !f.Inlined })
	if index = physical - f.Level; physical < 0 || index < 0 {
		return nil, 0, fmt.Errorf("%w: Delve knows no such inlined call there", errNotInserted)
	}
	frames = frames[:physical+1]
	for i := range frames {
		f.adjust(&frames[i])
	}
	return append(frames, frames[physical]), index, nil
}

// insertSlot is where a frame is inserted.
type insertSlot struct {
	key     internals.Key
	restore func()                            // selects what was selected before
	walk    func() ([]proc.Stackframe, error) // returns the stack as Delve's clients get it
}

func (f *RecoveredFrame) slot(t *proc.Target, index int) (out insertSlot, err error) {
	if f.Goroutine == 0 {
		out.key = internals.KeyOf(0, int(f.Thread))
		out.walk = func() ([]proc.Stackframe, error) { return proc.ThreadStacktrace(t, t.CurrentThread(), index) }
		out.restore, err = makeCurrent(t, int(f.Thread))
		return out, err
	}
	g, err := proc.FindGoroutine(t, int64(f.Goroutine))
	if err != nil || g == nil {
		return out, fmt.Errorf("%w: its goroutine %d is not to be found", errNotInserted, f.Goroutine)
	}
	slots, err := slotsOf(t, g)
	if err != nil {
		return out, err
	}
	return insertSlot{
		key: slots.lookupKey, restore: func() {},
		walk: func() ([]proc.Stackframe, error) { return proc.GoroutineStacktrace(t, g, index, 0) },
	}, nil
}

// insert puts frames into the slot, and returns what takes them out again.
func (at *insertSlot) insert(stacks internals.Stacks, frames []proc.Stackframe, index int) (remove func(), err error) {
	made := internals.KeyOf(0, frameThreadID)
	stack := stacks.Get(made)
	if !stack.Known() {
		at.restore()
		return nil, internals.Changed(internals.EntryStackCache, "Delve has walked a stack and does not remember it")
	}
	stacks.Set(made, internals.Stack{})
	before := stacks.Get(at.key)
	stack.SetFrames(frames)
	stacks.Set(at.key, stack)
	remove = func() {
		stacks.Set(at.key, before)
		at.restore()
	}
	// Another frame's variables would be shown if Delve did not look there.
	if found, err := at.walk(); err != nil || index >= len(found) || !sameFrame(&found[index], &frames[index]) {
		remove()
		return nil, internals.Changed(internals.EntryStackCache, "a frame that was put into a stack is not in it")
	}
	return remove, nil
}

func sameFrame(a, b *proc.Stackframe) bool {
	return a.Current.PC == b.Current.PC && a.Regs.CFA == b.Regs.CFA
}

// adjust corrects a frame that Delve made by what clew recovered.
func (f *RecoveredFrame) adjust(frame *proc.Stackframe) {
	if frame.Regs.FrameBase == frame.Regs.CFA {
		frame.Regs.FrameBase = int64(f.CFA)
	}
	frame.Regs.CFA = int64(f.CFA)
	if f.StackHigh != 0 {
		frame.SystemStack = false
		*internals.StackHigh(frame) = f.StackHigh
	}
}

// makeCurrent makes a thread without goroutine the current one: Delve shows
// variables of no other.
func makeCurrent(t *proc.Target, thread int) (restore func(), err error) {
	g, current := t.SelectedGoroutine(), t.CurrentThread()
	if g == nil && current.ThreadID() == thread {
		return func() {}, nil
	}
	if err := t.SwitchThread(thread); err != nil {
		return nil, err
	}
	restore = func() {
		_ = t.SwitchThread(current.ThreadID())
		if g != nil {
			_ = t.SwitchGoroutine(g)
		}
	}
	if t.SelectedGoroutine() != nil {
		restore()
		return nil, fmt.Errorf("%w: thread %d runs a goroutine for it", errNotInserted, thread)
	}
	return restore, nil
}

// frames has Delve make the frame, with the calls that are inlined into it.
func (f *RecoveredFrame) frames(t *proc.Target) ([]proc.Stackframe, error) {
	frames, err := proc.ThreadStacktrace(t, &frameThread{Thread: t.CurrentThread(), frame: f, arch: targets.Arch(t)}, maxInlined)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotInserted, err)
	}
	return frames, nil
}

// frameThread is a thread that stands in the frame.
type frameThread struct {
	proc.Thread
	frame  *RecoveredFrame
	arch   unwind.Arch
	common proc.CommonThread
}

// frameThreadID is the ID of no thread.
const frameThreadID = -1 << 20

func (l *frameThread) ThreadID() int                         { return frameThreadID }
func (l *frameThread) Common() *proc.CommonThread            { return &l.common }
func (l *frameThread) Registers() (proc.Registers, error)    { return l, nil }
func (l *frameThread) Copy() (proc.Registers, error)         { return l, nil }
func (l *frameThread) Breakpoint() *proc.BreakpointState     { return new(proc.BreakpointState) }
func (l *frameThread) RestoreRegisters(proc.Registers) error { return errNoRegister }

// SetReg refuses: where the register of an outer frame was saved is not kept.
func (l *frameThread) SetReg(uint64, *op.DwarfRegister) error { return errNoRegister }

var errNoRegister = errors.New("the variable lies in a register of a frame that clew has recovered, which cannot be changed")

func (l *frameThread) PC() uint64  { return l.frame.Lookup }
func (l *frameThread) SP() uint64  { return l.value(l.arch.SP()) }
func (l *frameThread) BP() uint64  { return l.value(l.arch.FP()) }
func (l *frameThread) LR() uint64  { return l.value(l.arch.LR()) }
func (l *frameThread) TLS() uint64 { return 0 }

// GAddr says that there is no goroutine: the frame is asked about, not what the
// thread runs.
func (l *frameThread) GAddr() (uint64, bool) { return 0, true }

func (l *frameThread) value(r unwind.Register) uint64 {
	v, _ := l.frame.Registers.Get(r)
	return v
}

// Slice returns the registers that were recovered.
func (l *frameThread) Slice(bool) (out []proc.Register, err error) {
	for reg, v := range l.frame.Registers.All() {
		if reg == l.arch.PC() {
			v = l.frame.Lookup
		}
		out = proc.AppendUint64Register(out, l.arch.RegisterName(reg), v)
	}
	return out, nil
}
