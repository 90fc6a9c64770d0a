package door

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/debugger"

	"github.com/clewdbg/clew/server/delve/internals"
)

// ErrRunning says that the program runs.
var ErrRunning = errors.New("the program is running")

// Door is a debugger of Delve's. Its methods are safe for concurrent use.
type Door struct {
	dbg   *debugger.Debugger
	lock  *sync.Mutex        // Delve's
	group **proc.TargetGroup // what it protects; a restart makes another
	runs  func() bool
}

// Of returns the door to a debugger. Runs says whether a command lets the program run now; it must not wait.
func Of(dbg *debugger.Debugger, runs func() bool) (*Door, error) {
	lock, group, err := internals.TargetLock(dbg)
	if err != nil {
		return nil, err
	}
	return &Door{dbg: dbg, lock: lock, group: group, runs: runs}, nil
}

// Times of a wait for Delve's lock.
const (
	firstLook = 20 * time.Microsecond
	lastLook  = time.Millisecond
	// commandPatience is how long a command may have the lock without letting the program run, as one that selects a goroutine.
	commandPatience = 100 * time.Millisecond
)

// Stopped returns the processes at their stop; until unlock is called, nothing lets them run. The error is [ErrRunning], at once, while they run.
func (d *Door) Stopped() (group *proc.TargetGroup, unlock func(), err error) {
	if err := d.until(d.lock.TryLock); err != nil {
		return nil, nil, err
	}
	return *d.group, d.lock.Unlock, nil
}

// Command carries out a command of Delve's, and returns when the program has stopped again.
func (d *Door) Command(command *api.DebuggerCommand, resumed chan struct{}) (*api.DebuggerState, error) {
	return d.dbg.Command(command, resumed, nil, nil)
}

// Detach leaves the processes, or kills them. It waits for the program's stop.
func (d *Door) Detach(kill bool) error { return d.dbg.Detach(kill) }

// FindLocation finds a location in Delve's notation, whatever is selected. With everyLine, lines without code are found too.
func (d *Door) FindLocation(location string, everyLine bool) ([]api.Location, error) {
	return call(d, func() ([]api.Location, error) {
		found, _, err := d.dbg.FindLocation(-1, 0, 0, location, everyLine, nil)
		return found, err
	}, nil)
}

// PackageVariables lists the program's global variables, without their values.
func (d *Door) PackageVariables() ([]*proc.Variable, error) {
	return call(d, func() ([]*proc.Variable, error) { return d.dbg.PackageVariables("", proc.LoadConfig{}) }, nil)
}

// CreateBreakpoint sets a breakpoint.
func (d *Door) CreateBreakpoint(b *api.Breakpoint) (*api.Breakpoint, error) {
	return call(d, func() (*api.Breakpoint, error) { return d.dbg.CreateBreakpoint(b, "", nil, false) }, func(made *api.Breakpoint) {
		_, _ = d.dbg.ClearBreakpoint(made) // the caller was told that there is none
	})
}

// ClearBreakpoint removes a breakpoint.
func (d *Door) ClearBreakpoint(id int) error {
	_, err := call(d, func() (*api.Breakpoint, error) { return d.dbg.ClearBreakpoint(&api.Breakpoint{ID: id}) }, nil)
	return err
}

// result is what a method of Delve's has returned, or how it has panicked.
type result[T any] struct {
	value    T
	err      error
	panicked any
}

// call calls a method of Delve that takes the lock itself. If the program is resumed before the method has the lock, call returns; undo is then called with what it has made
// all the same. A panic of Delve's goes on here.
func call[T any](d *Door, method func() (T, error), undo func(T)) (T, error) {
	var none T
	_, unlock, err := d.Stopped()
	if err != nil {
		return none, err
	}
	unlock()
	var taken atomic.Bool // somebody has the result
	done := make(chan result[T], 1)
	go func() {
		var r result[T]
		defer func() {
			r.panicked = recover()
			switch {
			case !taken.Swap(true):
				done <- r
			case undo != nil && r.err == nil && r.panicked == nil:
				undo(r.value)
			}
		}()
		r.value, r.err = method()
	}()
	var r result[T]
	err = d.until(func() bool {
		select {
		case r = <-done:
			return true
		default:
			return false
		}
	})
	switch {
	case err == nil:
	case !taken.Swap(true):
		return none, err
	default:
		r = <-done
	}
	if r.panicked != nil {
		panic(r.panicked)
	}
	return r.value, r.err
}

// until waits until done; the error says that the program runs.
func (d *Door) until(done func() bool) error {
	var since time.Time // a command has the lock
	for wait := firstLook; !done(); wait = min(2*wait, lastLook) {
		switch {
		case d.runs():
			return ErrRunning
		case !d.dbg.IsRunning():
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) > commandPatience:
			return ErrRunning
		}
		time.Sleep(wait)
	}
	return nil
}
