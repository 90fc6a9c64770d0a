package live

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/clewdbg/clew/server/delve"
)

// loaderHook is the function that the dynamic loader calls after every change
// of its list of libraries, for debuggers to set a breakpoint in (glibc,
// elf/dl-debug.c; musl has it by the same name).
const loaderHook = "_dl_debug_state"

// ExitError says that the program ended before it stopped.
type ExitError struct {
	Status   int    // the number of the signal that ended it, negated, if one did
	Location string // where it should have stopped, "" for any stop
	NotGo    bool   // the executable has no Go code
}

// Error says how the program ended and what to do.
func (e *ExitError) Error() string {
	if e.NotGo {
		return e.what() + "; it is not a Go program itself: did it load a library with Go code?"
	}
	return e.what()
}

func (e *ExitError) what() string {
	if e.Status < 0 {
		return fmt.Sprintf("the program was ended by signal %d (%v) before it stopped", -e.Status, syscall.Signal(-e.Status))
	}
	if e.Location != "" {
		return fmt.Sprintf("location %q was not reached: the program exited with status %d; check the location's spelling (FUNCTION, FILE:LINE or *ADDRESS) and the program's arguments",
			e.Location, e.Status)
	}
	return fmt.Sprintf("the program exited with status %d without stopping; set a breakpoint with --break LOC", e.Status)
}

// UnknownLocationError says that no image has the location.
type UnknownLocationError struct {
	Location string
	Stopped  delve.StopReason // why the program stopped before a library came that has it; "" if none can come
}

// Error says what to do.
func (e *UnknownLocationError) Error() string {
	s := fmt.Sprintf("there is no location %q", e.Location)
	if e.Stopped != "" {
		s += fmt.Sprintf(" in what was loaded when the program stopped (%s)", e.Stopped)
	}
	return s + "; check its spelling (FUNCTION, FILE:LINE or *ADDRESS)"
}

// RunTo is [Process.RunTo] of a process that is new.
func RunTo(ctx context.Context, s *delve.Session, location string, notify func(string)) (delve.Stop, error) {
	return NewProcess(s).RunTo(ctx, location, notify)
}

// RunTo resumes the program until it stops by itself, or at a location. The
// breakpoint for a location in a library is set when the library is loaded; notify
// gets a message when clew waits for that, and when the program stops by itself
// first. When ctx ends before the program stops, the error is the context's cause.
func (p *Process) RunTo(ctx context.Context, location string, notify func(string)) (delve.Stop, error) {
	s := p.session
	r := &runner{session: s, process: p, location: location, notify: notify, notGo: s.InLibrary()}
	if location != "" {
		if err := r.start(); err != nil {
			return delve.Stop{}, err
		}
	}
	fatal, err := r.stopWhereFatal()
	if err != nil {
		return delve.Stop{}, err
	}
	for {
		stop, err := s.Continue(ctx)
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return stop, err
		}
		if fatal != 0 && stop.Breakpoint == fatal {
			stop = delve.Stop{Reason: delve.StopFatal}
			r.elsewhere(stop)
			return stop, nil
		}
		if done, err := r.stopped(stop); done || err != nil {
			return stop, err
		}
	}
}

// stopped reports whether a stop is the one that was asked for. An error says that
// the program cannot reach it. At a stop where libraries may have been loaded the
// program goes on.
func (r *runner) stopped(stop delve.Stop) (done bool, err error) {
	switch {
	case stop.Reason == delve.StopExited:
		return false, &ExitError{Status: stop.ExitStatus, Location: r.location, NotGo: r.notGo}
	case stop.Reason == delve.StopLibrary && (r.location == "" || r.target != 0):
		return false, nil // Delve stops here in a C program, to set breakpoints in Go
	case stop.Reason == delve.StopLibrary, stop.Breakpoint != 0 && stop.Breakpoint != r.target:
		return false, r.libraries()
	case r.location != "" && r.target == 0 && stop.Reason != delve.StopManual:
		return false, &UnknownLocationError{Location: r.location, Stopped: stop.Reason}
	}
	r.elsewhere(stop)
	return true, nil
}

// elsewhere notifies the user that the program has stopped before the location.
func (r *runner) elsewhere(stop delve.Stop) {
	if r.location != "" && stop.Breakpoint != r.target {
		r.say("the program stopped by itself (%s) before it reached %q", stop.Reason, r.location)
	}
}

func (r *runner) say(format string, args ...any) {
	if r.notify != nil {
		r.notify(fmt.Sprintf(format, args...))
	}
}

// runner sets the breakpoint for a location as soon as it is known.
type runner struct {
	session  *delve.Session
	process  *Process
	location string
	notify   func(string)
	notGo    bool  // the executable has no Go code
	target   int   // breakpoint at the location, 0 until it is placed
	waiting  []int // breakpoints where libraries may have been loaded
}

// fatalFunctions are the functions in which Go's runtime ends a program: after a panic,
// an error of the runtime, and a signal.
var fatalFunctions = []string{"runtime.fatalpanic", "runtime.fatalthrow", "runtime.fatalsignal"}

// stopWhereFatal sets breakpoints in the fatal functions if Delve has not: it knows
// functions by DWARF, and a stripped program has them in Go's table only. Test: in integration, TestFatalStripped.
func (r *runner) stopWhereFatal() (id int, err error) {
	if _, err := r.session.Locate(fatalFunctions[0]); err == nil || !errors.Is(err, delve.ErrNoLocation) {
		return 0, nil // another error of Delve's shows when the program runs
	}
	var addrs []uint64
	for _, name := range fatalFunctions {
		at, err := r.symbols(name)
		if err != nil {
			return 0, err
		}
		addrs = append(addrs, at...)
	}
	if len(addrs) == 0 {
		return 0, nil
	}
	if id, err = r.session.BreakAt(addrs...); err != nil {
		return 0, fmt.Errorf("breakpoint where the program would end: %w", err)
	}
	return id, nil
}

// start sets the breakpoint. If its location is not known yet, start sets one where
// it may become known: at main.main, or at the entry point, when the libraries that
// the program is linked with are loaded.
func (r *runner) start() error {
	if ok, err := r.place(); ok || err != nil {
		return err
	}
	main, err := r.session.Locate("main.main")
	if errors.Is(err, delve.ErrNoLocation) { // a C program that loads Go with a library
		var entry uint64
		entry, err = r.session.EntryPoint()
		main = []uint64{entry}
	}
	if err != nil {
		return fmt.Errorf("location %q is not known, and neither is where to wait for it: %w", r.location, err)
	}
	id, err := r.session.BreakAt(main...)
	if err != nil {
		return fmt.Errorf("breakpoint at %#x, where the program begins: %w", main[0], err)
	}
	r.waiting = append(r.waiting, id)
	return nil
}

// libraries tries again to set the breakpoint, when libraries may have been loaded.
func (r *runner) libraries() error {
	ok, err := r.place()
	if err != nil {
		return err
	}
	if ok {
		for _, id := range r.waiting {
			if err := r.session.ClearBreak(id); err != nil {
				return err
			}
		}
		r.waiting = nil
		return nil
	}
	if len(r.waiting) != 1 {
		return nil
	}
	hooks, err := r.symbols(loaderHook)
	if err != nil {
		return err
	}
	if len(hooks) == 0 { // a static program: nothing will be loaded
		return &UnknownLocationError{Location: r.location}
	}
	r.say("location %q is not known yet: waiting for a library that has it", r.location)
	id, err := r.session.BreakAt(hooks...)
	if err != nil {
		return fmt.Errorf("breakpoint at the dynamic loader's %s: %w", loaderHook, err)
	}
	r.waiting = append(r.waiting, id)
	return nil
}

// place sets the breakpoint if the location is known now: to Delve, or by a
// symbol of an image.
func (r *runner) place() (bool, error) {
	addrs, err := r.session.Locate(r.location)
	if errors.Is(err, delve.ErrNoLocation) {
		addrs, err = r.symbols(r.location)
	}
	if err != nil || len(addrs) == 0 {
		return false, err
	}
	if r.target, err = r.session.BreakAt(addrs...); err != nil {
		return false, fmt.Errorf("breakpoint at %q: %w", r.location, err)
	}
	return true, nil
}

func (r *runner) symbols(name string) ([]uint64, error) {
	v, err := r.process.Read(false)
	if err != nil {
		return nil, err
	}
	return v.Code().Find(name), nil
}
