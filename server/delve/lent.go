package delve

import (
	"errors"
	"fmt"

	"github.com/go-delve/delve/pkg/dwarf/op"
	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/unwind"
)

// Delve shows variables of frames in its own stacks only, and names a frame by its
// index there. A frame that clew has recovered is lent to it: for one request it
// stands where Delve looks for the stack of the frame's goroutine (see walked.go).
// Everything else, from DWARF to the text of a value, is then Delve's own.
// The frame itself is made by Delve's code too, as the innermost one of a thread
// that has the recovered registers; its CFA is replaced by the one that was found.
// Registers that were not recovered are missing in it: what lies in them cannot be
// read, and no register can be set.
// Test: integration/dap TestLocals.

// Lent is a frame to be lent.
type Lent struct {
	// Goroutine is what it belongs to, 0 for a thread without one.
	Goroutine, Thread uint64
	// Registers are as they are in the frame.
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

// Loan says how Delve calls a frame that was lent.
type Loan struct {
	Thread int64 // a goroutine's ID; 0 is the current thread
	Index  int   // in its stack
	// Release takes the frame back. Nothing else may ask Delve for this stack before.
	Release func()
}

// maxInlined bounds the calls that are inlined into one frame.
const maxInlined = 64

var errNotLent = errors.New("this frame, which clew has recovered, cannot be looked into")

// Lend lends a frame to Delve. The target stands still until it is released.
func (s *Session) Lend(f *Lent) (loan Loan, err error) {
	defer func() {
		if r := recover(); r != nil { // Delve's code does not survive corrupt tables
			err = fmt.Errorf("%w: %v", errNotLent, r)
		}
	}()
	group, unlock := s.dbg.LockTargetGroup()
	defer unlock()
	t := group.Selected
	if valid, err := t.Valid(); !valid {
		return loan, err
	}
	stacks, err := internals.StacksOf(t)
	if err != nil {
		return loan, err
	}
	frames, err := f.frames(t)
	if err != nil {
		return loan, err
	}
	physical := 0
	for physical < len(frames) && frames[physical].Inlined {
		physical++
	}
	loan.Index = physical - f.Level
	if physical == len(frames) || loan.Index < 0 {
		return loan, fmt.Errorf("%w: it knows no such inlined call there", errNotLent)
	}
	frames = frames[:physical+1]
	for i := range frames {
		f.settle(&frames[i])
	}
	// A caller is needed that says up to where to read ahead: the frame itself.
	frames = append(frames, frames[physical])

	restore, key := func() {}, internals.KeyOf(0, int(f.Thread))
	ask := func() ([]proc.Stackframe, error) { return proc.ThreadStacktrace(t, t.CurrentThread(), loan.Index) }
	if f.Goroutine != 0 {
		g, err := proc.FindGoroutine(t, int64(f.Goroutine))
		if err != nil || g == nil {
			return loan, fmt.Errorf("%w: its goroutine %d is not to be found", errNotLent, f.Goroutine)
		}
		at, err := placesOf(t, g)
		if err != nil {
			return loan, err
		}
		loan.Thread, key = int64(f.Goroutine), at.sought
		ask = func() ([]proc.Stackframe, error) { return proc.GoroutineStacktrace(t, g, loan.Index, 0) }
	} else if restore, err = makeCurrent(t, int(f.Thread)); err != nil {
		return loan, err
	}
	lender := internals.KeyOf(0, lenderID)
	made := stacks.Get(lender)
	if !made.Known() {
		restore()
		return loan, internals.Changed(internals.EntryStackCache, "Delve has walked a stack and does not remember it")
	}
	stacks.Set(lender, internals.Stack{})
	before := stacks.Get(key)
	made.SetFrames(frames)
	stacks.Set(key, made)
	takeBack := func() {
		stacks.Set(key, before)
		restore()
	}
	// Another frame's variables would be shown if Delve did not look there.
	if found, err := ask(); err != nil || loan.Index >= len(found) || !sameFrame(&found[loan.Index], &frames[loan.Index]) {
		takeBack()
		return loan, internals.Changed(internals.EntryStackCache, "a frame that was put into a stack is not in it")
	}
	loan.Release = func() {
		_, unlock := s.dbg.LockTargetGroup()
		defer unlock()
		takeBack()
	}
	return loan, nil
}

func sameFrame(a, b *proc.Stackframe) bool {
	return a.Current.PC == b.Current.PC && a.Regs.CFA == b.Regs.CFA
}

// settle puts into a frame of Delve's making what clew knows better.
func (f *Lent) settle(frame *proc.Stackframe) {
	if frame.Regs.FrameBase == frame.Regs.CFA {
		frame.Regs.FrameBase = int64(f.CFA)
	}
	frame.Regs.CFA = int64(f.CFA)
	if f.StackHigh != 0 {
		frame.SystemStack = false
		*internals.StackHigh(frame) = f.StackHigh
	}
}

// makeCurrent makes a thread without goroutine the current one, which is the only
// one that Delve can look into.
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
		return nil, fmt.Errorf("%w: thread %d runs a goroutine for it", errNotLent, thread)
	}
	return restore, nil
}

// frames has Delve make the frame, with the calls that are inlined into it.
func (f *Lent) frames(t *proc.Target) ([]proc.Stackframe, error) {
	frames, err := proc.ThreadStacktrace(t, &lender{Thread: t.CurrentThread(), frame: f, arch: arch(t)}, maxInlined)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotLent, err)
	}
	return frames, nil
}

// lender is a thread that stands in the frame.
type lender struct {
	proc.Thread
	frame  *Lent
	arch   unwind.Arch
	common proc.CommonThread
}

// lenderID is no thread's.
const lenderID = -1 << 20

func (l *lender) ThreadID() int                         { return lenderID }
func (l *lender) Common() *proc.CommonThread            { return &l.common }
func (l *lender) Registers() (proc.Registers, error)    { return l, nil }
func (l *lender) Copy() (proc.Registers, error)         { return l, nil }
func (l *lender) Breakpoint() *proc.BreakpointState     { return new(proc.BreakpointState) }
func (l *lender) RestoreRegisters(proc.Registers) error { return errNoRegister }

// SetReg refuses: where the register of an outer frame was saved is not kept.
func (l *lender) SetReg(uint64, *op.DwarfRegister) error { return errNoRegister }

var errNoRegister = errors.New("the variable lies in a register of a frame that clew has recovered, which cannot be changed")

func (l *lender) PC() uint64  { return l.frame.Lookup }
func (l *lender) SP() uint64  { return l.value(l.arch.SP()) }
func (l *lender) BP() uint64  { return l.value(l.arch.FP()) }
func (l *lender) LR() uint64  { return l.value(l.arch.LR()) }
func (l *lender) TLS() uint64 { return 0 }

// GAddr says that there is no goroutine: the frame is asked about, not what the
// thread runs.
func (l *lender) GAddr() (uint64, bool) { return 0, true }

func (l *lender) value(r unwind.Register) uint64 {
	v, _ := l.frame.Registers.Get(r)
	return v
}

// Slice returns the registers that were recovered.
func (l *lender) Slice(bool) (out []proc.Register, err error) {
	for reg, v := range l.frame.Registers.All() {
		if reg == l.arch.PC() {
			v = l.frame.Lookup
		}
		out = proc.AppendUint64Register(out, l.arch.RegisterName(reg), v)
	}
	return out, nil
}
