package interpose

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/delve/breakpoints"
	"github.com/clewdbg/clew/server/delve/delvelog"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/internal/procfs"
	"github.com/clewdbg/clew/unwind"
)

// Delve writes breakpoints at any address. Its own return addresses may be wrong: words
// of the heap, or of the program's data. Every such write goes through one method of the process
// that a proc.Target holds (WriteBreakpoint). The guard stands before it and
// refuses what lies outside the executable mappings, whichever command or
// protocol asked. It also stands before EraseBreakpoint, which would write the
// original byte back into whatever is at the address by then.
//
// The field that holds the process is private (package internals): with a release
// of Delve that has another, no session starts.
//
// Delve has a target before clew does: after a restart, and when it follows a child,
// Delve first writes the existing breakpoints into the new process. That has not run
// by then: when the guard is put before it, breakpoints outside of code are removed.
// Test: TestGuardUndoes, and integration/stepping/places.
type guard struct {
	proc.ProcessInternal
	pid int
	// released says that clew is about to detach from the process, which must not be
	// halted any more (release.go). halting is held during a request to halt.
	halting  sync.Mutex
	released bool
	// executable was read when resumes was read. It is valid until resumes changes.
	executable unwind.RangeSet
	read       uint64
	// written holds the addresses at which breakpoint instructions were written. They
	// may have been removed since.
	written map[uint64]bool
}

// resumes counts the times at which a target may have begun to run.
var resumes atomic.Uint64

// OutsideCodeError says that a breakpoint was refused at an address without code.
type OutsideCodeError struct {
	Addr uint64
	Err  error // why the mappings could not be read, or nil
}

// Error names the address.
func (e *OutsideCodeError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("no breakpoint is written at %#x: whether it is code cannot be checked: %v", e.Addr, e.Err)
	}
	return fmt.Sprintf("no breakpoint is written at %#x: it lies outside every executable mapping", e.Addr)
}

// Unwrap returns the cause.
func (e *OutsideCodeError) Unwrap() error { return e.Err }

// WriteBreakpoint refuses software breakpoints outside of code. Watchpoints are
// registers of the processor and change no memory.
func (g *guard) WriteBreakpoint(bp *proc.Breakpoint) error {
	if bp.WatchType == 0 {
		if err := g.check(bp.Addr); err != nil {
			resumes.Add(1) // a step that is refused may have selected its goroutine before
			return err
		}
		g.wrote(bp.Addr)
		g.willWrite(bp)
	}
	return g.ProcessInternal.WriteBreakpoint(bp)
}

func (g *guard) wrote(addr uint64) {
	if g.written == nil {
		g.written = make(map[uint64]bool)
	}
	g.written[addr] = true
}

// EraseBreakpoint does not write to memory that no longer has the breakpoint: the
// program has replaced its code (execve, dlclose), or written over it.
func (g *guard) EraseBreakpoint(bp *proc.Breakpoint) error {
	if bp.WatchType == 0 && !breakpoints.Planted(g.ProcessInternal, bp) {
		noteGuard(life.Load().Forget(g.pid, bp.Addr))
		return nil
	}
	err := g.ProcessInternal.EraseBreakpoint(bp)
	if bp.WatchType == 0 && err == nil {
		noteGuard(life.Load().Forget(g.pid, bp.Addr))
	}
	return err
}

// RequestManualStop halts the process by a signal. The end of another session may
// call it while this one detaches.
func (g *guard) RequestManualStop(cctx *proc.ContinueOnceContext) error {
	defer inside.came(nil)
	g.halting.Lock()
	defer g.halting.Unlock()
	if g.released {
		return nil
	}
	return g.ProcessInternal.RequestManualStop(cctx)
}

// release prevents further halts: when it returns, no signal is on its way.
func (g *guard) release() {
	g.halting.Lock()
	defer g.halting.Unlock()
	g.released = true
}

// check returns an error unless addr lies in an executable mapping. A step sets
// hundreds of breakpoints, and a program may have thousands of mappings: they are
// read once for each stop.
func (g *guard) check(addr uint64) error {
	if now := resumes.Load(); g.executable == nil || g.read != now {
		maps, err := procfs.Maps(g.pid)
		if err != nil {
			return &OutsideCodeError{Addr: addr, Err: err}
		}
		g.executable, g.read = procfs.Ranges(maps, "x"), now
	}
	if !g.executable.Contains(addr) {
		return &OutsideCodeError{Addr: addr}
	}
	return nil
}

// guardOf returns the guard before a target's process, and puts it there first if
// necessary. launched says whether Delve has started the program, or one that it comes from. Only Linux lists a process's mappings: elsewhere it is nil.
func guardOf(t *proc.Target, launched bool) (*guard, error) {
	if runtime.GOOS != "linux" {
		return nil, nil
	}
	held, err := internals.Process(t)
	if err != nil {
		return nil, err
	}
	g, done := (*held).(*guard)
	if !done {
		g = &guard{ProcessInternal: *held, pid: t.Pid()}
		for addr := range t.Breakpoints().M {
			g.wrote(addr)
		}
		g.tellLife(t, launched)
		g.undo(t.Breakpoints().M)
		*held = g
	}
	return g, nil
}

// undo removes breakpoints that were written outside of code before there was a
// guard. They stay in Delve's list, as breakpoints do when the program replaces the
// code under them.
func (g *guard) undo(list map[uint64]*proc.Breakpoint) {
	for addr, bp := range list {
		if bp.WatchType != 0 || g.check(addr) == nil {
			continue
		}
		if err := g.EraseBreakpoint(bp); err != nil {
			delvelog.DAPError("a breakpoint outside of code, at %#x, cannot be removed: %v", addr, err)
		}
	}
}

// guardGroup guards every target of a group. Recordings and core files have no
// memory that could be harmed, and no mappings to ask the kernel for: only their list of goroutines is bounded.
func guardGroup(group *proc.TargetGroup, launched bool) error {
	recorded, _ := group.Recorded()
	for _, t := range group.Targets() {
		if err := boundGoroutines(t); err != nil {
			return err
		}
		if recorded {
			continue
		}
		if _, err := guardOf(t, launched); err != nil {
			return err
		}
	}
	return nil
}

// Moment changes whenever the target may have been resumed. What was read of it at an
// equal moment is still valid, unless its memory was written to.
func Moment() uint64 { return resumes.Load() }
