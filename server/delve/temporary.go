package delve

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"

	"github.com/go-delve/delve/pkg/astutil"
	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/stepping"
)

// Arm has a breakpoint placed for one return when the target is resumed next,
// after Delve has placed its breakpoints and before anything runs. So a step of Delve's
// (next, step) gets a return breakpoint that is right, and a plain continue
// becomes a step out. Delve reports the stop there as the end of a step, and
// clears the breakpoint with its own stepping breakpoints.
//
// The resume may come through whichever protocol Delve serves. A caller whose
// resume fails before the target runs calls [Session.EndStep].
func (s *Session) Arm(at stepping.Temporary) error {
	group, unlock := s.dbg.LockTargetGroup()
	defer unlock()
	t := group.Selected
	if valid, err := t.Valid(); !valid {
		return err
	}
	if group.HasSteppingBreakpoints() {
		return errors.New("a step is in progress")
	}
	r, err := runnerOf(group)
	if err != nil {
		return err
	}
	if err := r.checkRoute(); err != nil {
		return err
	}
	// Placed once to see that it can be: at the resume it would be too late.
	if _, err := t.SetBreakpoint(0, at.PC, proc.NextBreakpoint, nil); err != nil {
		return err
	}
	if err := t.ClearSteppingBreakpoints(); err != nil {
		return err
	}
	r.armed = &temporary{session: s, target: t, at: at, since: timeOf(group)}
	return nil
}

// Stepping says that a step was interrupted and can be finished.
func (s *Session) Stepping() bool {
	group, unlock := s.dbg.LockTargetGroup()
	defer unlock()
	return group.HasSteppingBreakpoints()
}

// EndStep ends a step that is not finished: an armed breakpoint is not placed any
// more, and breakpoints that the step has placed are cleared. It must be called at
// every stop after [Session.Arm], and does nothing if the step is over. The error
// says why the armed breakpoint had no effect: it could not be placed, or the program
// has replaced the code under it.
func (s *Session) EndStep() error {
	group, unlock := s.dbg.LockTargetGroup()
	defer unlock()
	r, err := runnerOf(group)
	if err != nil {
		return err
	}
	armed := r.armed
	if armed == nil {
		return nil
	}
	r.armed = nil
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

// temporary is a return breakpoint that is armed, or placed.
type temporary struct {
	session *Session
	target  *proc.Target
	at      stepping.Temporary
	since   uint64 // when it was armed (timeOf)
	placed  *proc.Breakpoint
	failed  error // why it has no effect
}

// unplaced returns an error if the program has run without the breakpoint: it was
// resumed by a way that does not lead through the runner.
func (b *temporary) unplaced(group *proc.TargetGroup) error {
	if b.placed != nil || b.failed != nil || b.since == 0 || timeOf(group) == b.since {
		return nil
	}
	return internals.Changed(internals.EntryProcessGroup,
		"the program has run, and the breakpoint at the caller, %#x, was not placed before", b.at.PC)
}

// place writes the breakpoint, once. The target's lock is held, and every thread
// stands.
func (b *temporary) place() error {
	if b.placed != nil {
		return nil
	}
	if b.failed == nil {
		if err := b.write(); err != nil { // although it could be placed when it was armed
			b.failed = fmt.Errorf("the breakpoint at the caller cannot be placed: %w", err)
		}
	}
	return b.failed
}

func (b *temporary) write() error {
	bp, err := b.target.SetBreakpoint(0, b.at.PC, proc.NextBreakpoint, b.condition())
	if err != nil {
		return err
	}
	bp.Breaklets[len(bp.Breaklets)-1].SetCallback(b.returned)
	b.placed = bp
	// A thread that stands at the very address, as after a return from the same
	// function's deeper activation, has to be stepped over it.
	for _, th := range b.target.ThreadList() {
		if th.Breakpoint().Breakpoint != nil {
			continue
		}
		regs, err := th.Registers()
		if err != nil || regs.PC() != b.at.PC {
			continue
		}
		if err := th.SetCurrentBreakpoint(false); err != nil {
			return err
		}
	}
	return nil
}

// condition is what Delve itself puts on its stepping breakpoints: by it Delve
// tells whether a breakpoint of the user's that is hit meanwhile is one of the
// same goroutine or thread, and ends the step there.
func (b *temporary) condition() ast.Expr {
	if b.at.OnGoroutine {
		return astutil.Eql(astutil.Sel(astutil.PkgVar("runtime", "curg"), "goid"), astutil.Int(int64(b.at.Goroutine)))
	}
	return astutil.Eql(astutil.PkgVar("runtime", "threadid"), astutil.Int(int64(b.at.Thread)))
}

// returned reports whether the thread at the breakpoint has returned from the
// activation.
func (b *temporary) returned(th proc.Thread, t *proc.Target) (bool, error) {
	regs, tls, err := registers(th)
	if err != nil {
		return true, fmt.Errorf("thread %d came to the caller at %#x, but its registers cannot be read: %w", th.ThreadID(), b.at.PC, err)
	}
	sp, _ := regs.SP(arch(t))
	var goroutine, high uint64
	if b.at.OnGoroutine {
		if goroutine, high, err = b.session.runtime(t).Goroutine(b.session.currentG(t, th, tls)); err != nil {
			return false, nil // a thread without a goroutine
		}
	}
	return b.at.Matches(uint64(th.ThreadID()), sp, goroutine, high), nil
}

// checkReplaced stops a program that has replaced the code under the breakpoint:
// execve, or dlclose of the caller's library. Breakpoints of the old program are
// forgotten without being written back. The stop is one that no protocol of
// Delve's passes over. Every thread stands.
// Test: integration/stepping TestExec.
func (b *temporary) checkReplaced() {
	if b.placed == nil || b.failed != nil || stillPlanted(b.target, b.placed) {
		return
	}
	all := b.target.Breakpoints().M
	if all[b.placed.Addr] != b.placed {
		return // the step is over
	}
	for addr, bp := range all {
		if bp.WatchType == 0 && !stillPlanted(b.target, bp) {
			delete(all, addr)
		}
	}
	b.failed = fmt.Errorf("the program has replaced the code that this function returns to, at %#x (execve or dlclose)", b.at.PC)
	for _, th := range b.target.ThreadList() {
		if regs, err := th.Registers(); err == nil {
			stopAt(b.target, th, regs.PC())
			return
		}
	}
}
