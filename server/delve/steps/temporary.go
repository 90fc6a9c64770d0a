package steps

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"slices"

	"github.com/go-delve/delve/pkg/astutil"
	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/delve/breakpoints"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/delve/interpose"
	"github.com/clewdbg/clew/server/delve/targets"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/server/stepping/lines"
)

// Arm has the breakpoints placed that a step was decided to need when the target is
// resumed next, after Delve has placed its own and before anything runs: one for the return
// of the innermost frame, and those where the line's code goes on in the other language.
// So a step of Delve's (next, step) ends where it should, and a plain continue
// becomes a step out. Delve reports the stop there as the end of a step, and
// clears the breakpoints with its own stepping breakpoints. It returns false where
// Delve's step needs none.
//
// The resume may come through whichever protocol Delve serves. A caller whose
// resume fails before the target runs calls [Session.EndStep].
func (s *Stepper) Arm(d *stepping.Decision) (armed bool, err error) {
	if !d.Armed() {
		return false, nil
	}
	group, unlock, err := s.program.Stopped()
	if err != nil {
		return false, err
	}
	defer unlock()
	t := group.Selected
	if valid, err := t.Valid(); !valid {
		return false, err
	}
	b := &temporary{stepper: s, target: t, passed: make(map[*proc.Breakpoint]bool), at: d.Caller, through: d.Through, left: d.SP,
		code: d.Code, lines: d.Lines, since: interpose.TimeOf(group), thread: d.Thread, goroutine: d.Goroutine}
	if err := b.startLines(); err != nil {
		return false, err
	}
	if d.Through && d.Command == stepping.StepIn && d.Code != nil {
		c := s.crossingsOf(t, d.Code, d.Native)
		b.entries, b.crosses = c.entries, c.glue
	}
	if d.Into != nil && d.Code != nil {
		b.into = intoOf(s.crossingsFrom(t, d.Code), d)
	}
	if d.Into != nil && b.into == nil {
		return false, fmt.Errorf("the call at %#x is not known", d.Into.Call)
	}
	b.escapesOf(d)
	if d.Action == stepping.Delegate && !b.crosses && b.into == nil && len(b.entries) == 0 && len(b.escapes) == 0 {
		return false, nil
	}
	return true, b.arm(group)
}

// arm has the runner place the breakpoints.
func (b *temporary) arm(group *proc.TargetGroup) error {
	if group.HasSteppingBreakpoints() {
		return errors.New("a step is in progress")
	}
	r, err := interpose.RunnerOf(group)
	if err != nil {
		return err
	}
	if err := r.CheckRoute(); err != nil {
		return err
	}
	if err := b.try(); err != nil {
		return err
	}
	r.Armed = b
	return nil
}

// try places the breakpoint at the caller once to see that it can be: at the resume it
// would be too late.
func (b *temporary) try() error {
	if b.at.PC == 0 {
		return nil
	}
	if _, err := b.target.SetBreakpoint(0, b.at.PC, proc.NextBreakpoint, nil); err != nil {
		return err
	}
	return b.target.ClearSteppingBreakpoints()
}

// Stepping says that a step was interrupted and can be finished.
func (s *Stepper) Stepping() bool {
	group, unlock, err := s.program.Stopped()
	if err != nil {
		return false
	}
	defer unlock()
	return group.HasSteppingBreakpoints()
}

// EndStep ends a step that is not finished: an armed breakpoint is not placed any
// more, and breakpoints that the step has placed are cleared. It must be called at
// every stop after [Session.Arm], and does nothing if the step is over. The error
// says why the armed breakpoint had no effect: it could not be placed, or the program
// has replaced the code under it.
func (s *Stepper) EndStep() error {
	group, unlock, err := s.program.Stopped()
	if err != nil {
		return err
	}
	defer unlock()
	r, err := interpose.RunnerOf(group)
	if err != nil {
		return err
	}
	armed, ok := r.Armed.(*temporary)
	if !ok {
		return nil
	}
	r.Armed = nil
	failed := armed.unplaced(group)
	if valid, _ := group.Selected.Valid(); !valid {
		return failed // it has exited: there is nothing to clear
	}
	for _, t := range group.Targets() {
		if valid, _ := t.Valid(); valid {
			err = errors.Join(err, t.ClearSteppingBreakpoints())
		}
	}
	return cmp.Or(armed.failed, failed, err)
}

// temporary is a step's breakpoints that are armed, or placed.
type temporary struct {
	stepper *Stepper
	target  *proc.Target
	at      stepping.Temporary // the return, without an address where Delve's is right
	entries map[uint64]uint64  // where the step ends, see crossings
	through bool               // it does not end in glue
	crosses bool               // the line calls glue
	left    uint64             // the stack pointer of the frame that is stepped in
	code    stepping.Code      // nil where nothing is known of native code
	lines   *lines.Step        // the way through native code, nil for none
	awaits  []uint64           // where that begins
	crossed bool               // into glue: Go's functions that it leads to are awaited
	into    *into              // the call that it goes into, nil for none
	escapes []escape           // how it may be left without a return
	setjmps []uint64           // where glibc's setjmp is
	since   uint64             // when it was armed (timeOf)
	// thread and goroutine are what steps, 0 for none.
	thread, goroutine uint64
	placed            []*proc.Breakpoint
	passed            map[*proc.Breakpoint]bool // Delve's, that were looked at
	failed            error                     // why they have no effect
}

// unplaced returns an error if the program has run without the breakpoint: it was
// resumed by a way that does not lead through the runner.
func (b *temporary) unplaced(group *proc.TargetGroup) error {
	if len(b.placed) > 0 || b.at.PC == 0 || b.failed != nil || b.since == 0 || interpose.TimeOf(group) == b.since {
		return nil
	}
	return internals.Changed(internals.EntryProcessGroup,
		"the program has run, and the breakpoint at the caller, %#x, was not placed before", b.at.PC)
}

// Place writes the breakpoints, once, and takes those of Delve's step out of glue, each
// time. The target's lock is held, and every thread stands.
func (b *temporary) Place() error {
	if len(b.placed) == 0 && b.failed == nil {
		if err := b.write(); err != nil { // although it could be placed when it was armed
			b.failed = fmt.Errorf("the breakpoint at the caller cannot be placed: %w", err)
		}
	}
	if b.through && b.code != nil {
		b.passGlue()
	}
	return b.failed
}

func (b *temporary) write() error {
	if b.at.PC != 0 {
		goroutine := b.at.Goroutine
		if !b.at.OnGoroutine {
			goroutine = 0
		}
		if err := b.set(b.at.PC, sameThread(goroutine, b.at.Thread), b.returned); err != nil {
			return err
		}
	}
	if err := b.enter(b.entries); err != nil {
		return err
	}
	if err := b.await(b.awaits); err != nil {
		return err
	}
	if b.into != nil {
		if err := b.set(b.into.to, sameThread(b.goroutine, b.thread), b.enters); err != nil {
			return err
		}
	}
	for _, e := range b.escapes {
		if err := b.set(e.pc, sameThread(0, b.threadNow()), b.sees(e)); err != nil {
			return err
		}
	}
	return nil
}

// enter places breakpoints where functions begin, for what steps.
func (b *temporary) enter(entries map[uint64]uint64) error {
	for _, pc := range entries {
		if pc == 0 {
			continue
		}
		if err := b.set(pc, sameThread(b.goroutine, b.thread), nil); err != nil {
			return err
		}
	}
	return nil
}

// set places one breakpoint. Delve asks the parts of a breakpoint in turn, and a callback that returns false takes back what parts
// before it said: the user's are asked after the step's.
func (b *temporary) set(pc uint64, condition ast.Expr, counts func(proc.Thread, *proc.Target) (bool, error)) error {
	bp, err := b.target.SetBreakpoint(0, pc, proc.NextBreakpoint, condition)
	if err != nil {
		return err
	}
	last := len(bp.Breaklets) - 1
	if counts != nil {
		bp.Breaklets[last].SetCallback(func(th proc.Thread, t *proc.Target) (bool, error) {
			before := th.Breakpoint().Active
			ok, err := counts(th, t)
			return ok || before, err
		})
	}
	bp.Breaklets = slices.Insert(bp.Breaklets[:last:last], 0, bp.Breaklets[last])
	b.placed = append(b.placed, bp)
	// A thread that stands at the very address, as after a return from the same
	// function's deeper activation, has to be stepped over it.
	for _, th := range b.target.ThreadList() {
		if th.Breakpoint().Breakpoint != nil {
			continue
		}
		regs, err := th.Registers()
		if err != nil || regs.PC() != pc {
			continue
		}
		if err := th.SetCurrentBreakpoint(false); err != nil {
			return err
		}
	}
	return nil
}

// sameThread is the condition that Delve itself puts on its stepping breakpoints: by it Delve
// tells whether a breakpoint of the user's that is hit meanwhile is one of the
// same goroutine or thread, and ends the step there.
func sameThread(goroutine, thread uint64) ast.Expr {
	if goroutine != 0 {
		return astutil.Eql(astutil.Sel(astutil.PkgVar("runtime", "curg"), "goid"), astutil.Int(int64(goroutine)))
	}
	return astutil.Eql(astutil.PkgVar("runtime", "threadid"), astutil.Int(int64(thread)))
}

// returned reports whether the thread at the breakpoint has returned from the
// activation.
func (b *temporary) returned(th proc.Thread, t *proc.Target) (bool, error) {
	regs, tls, err := targets.Registers(th)
	if err != nil {
		return true, fmt.Errorf("thread %d came to the caller at %#x, but its registers cannot be read: %w", th.ThreadID(), b.at.PC, err)
	}
	sp, _ := regs.SP(targets.Arch(t))
	var goroutine, high uint64
	if b.at.OnGoroutine {
		if goroutine, high, err = b.stepper.reader.GoroutineOf(t, th, tls); err != nil {
			return false, nil // a thread without a goroutine
		}
	}
	return b.at.Matches(uint64(th.ThreadID()), sp, goroutine, high), nil
}

// CheckReplaced stops a program that has replaced the code under the breakpoint at the caller:
// execve, or dlclose of the caller's library. Breakpoints of the old program are
// forgotten without being written back. The stop is one that no protocol of
// Delve's passes over. Other breakpoints of the step may go with a library that it closes: it goes
// on without them. Every thread stands.
// Test: integration/stepping/places TestExec.
func (b *temporary) CheckReplaced() {
	if b.failed != nil {
		return
	}
	all := b.target.Breakpoints().M
	gone := func(bp *proc.Breakpoint) bool { return all[bp.Addr] == bp && !breakpoints.Planted(b.target, bp) }
	i := slices.IndexFunc(b.placed, func(bp *proc.Breakpoint) bool { return (bp.Addr == b.at.PC || b.at.PC == 0) && gone(bp) })
	if i < 0 {
		for _, bp := range b.placed {
			if bp.UserBreaklet() == nil && gone(bp) {
				delete(all, bp.Addr)
			}
		}
		return // the step is over, or the code that it returns to is as it was
	}
	for addr, bp := range all {
		if bp.WatchType == 0 && !breakpoints.Planted(b.target, bp) {
			delete(all, addr)
		}
	}
	b.failed = fmt.Errorf("the program has replaced the code that this function returns to, at %#x (execve or dlclose)", b.placed[i].Addr)
	for _, th := range b.target.ThreadList() {
		if regs, err := th.Registers(); err == nil {
			interpose.StopAt(b.target, th, regs.PC())
			return
		}
	}
}
