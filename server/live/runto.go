package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/held"
)

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

// UnknownLocationError says that no image has the location, or that it cannot be placed there.
type UnknownLocationError struct {
	Location string
	Stopped  held.StopReason // why the program stopped before a library came that has it; "" if none can come
	Err      error           // why it is not placed although its code is loaded
}

// Unwrap returns why it is not placed although its code is loaded.
func (e *UnknownLocationError) Unwrap() error { return e.Err }

// Error says what to do.
func (e *UnknownLocationError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("no breakpoint could be placed: %v", e.Err)
	}
	s := fmt.Sprintf("there is no location %q", e.Location)
	if e.Stopped != "" {
		s += fmt.Sprintf(" in what was loaded when the program stopped (%s)", e.Stopped)
	}
	return s + "; check its spelling (FUNCTION, FILE:LINE or *ADDRESS)"
}

// RunTo lets the program run until it stops by itself, or at one of the locations. A
// location in a library that is not loaded yet is set when it is; notify is
// told when clew waits for that, and when the program stops by itself first. When
// ctx ends before the program stops, the error is the context's cause.
func (p *Process) RunTo(ctx context.Context, notify func(string), locations ...string) (held.Stop, error) {
	s := p.session
	r := &runner{session: s, process: p, notify: notify, notGo: s.NotGo()}
	for _, location := range locations {
		if err := r.place(location); err != nil {
			return held.Stop{}, err
		}
	}
	fatal, err := r.stopWhereFatal()
	if err != nil {
		return held.Stop{}, err
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
			stop = held.Stop{Reason: held.StopFatal}
			r.elsewhere(stop)
			return stop, nil
		}
		if done, err := r.stopped(stop); done || err != nil {
			return stop, err
		}
	}
}

// stopped reports whether a stop is the one that was asked for. An error says that
// the program cannot reach it.
func (r *runner) stopped(stop held.Stop) (done bool, err error) {
	switch {
	case stop.Reason == held.StopExited:
		return false, &ExitError{Status: stop.ExitStatus, Location: strings.Join(r.locations(), ", "), NotGo: r.notGo}
	case stop.Reason == held.StopLibrary:
		return false, nil // Delve's own stop in a program of C's, for breakpoints in Go
	}
	if missing, lack := r.unplaced(); len(missing) > 0 && len(missing) == len(r.targets) && stop.Reason != held.StopManual {
		return false, &UnknownLocationError{Location: missing[0], Stopped: stop.Reason, Err: lack}
	}
	r.elsewhere(stop)
	return true, nil
}

// elsewhere says that a program has stopped before it came to a location.
func (r *runner) elsewhere(stop held.Stop) {
	if len(r.targets) > 0 && !r.reached(stop) {
		r.say("the program stopped by itself (%s) before it reached %q", stop.Reason, strings.Join(r.locations(), ", "))
	}
}

func (r *runner) say(format string, args ...any) {
	if r.notify != nil {
		r.notify(fmt.Sprintf(format, args...))
	}
}

// runner places the breakpoints for locations, sooner or later.
type runner struct {
	session *delve.Session
	process *Process
	notify  func(string)
	notGo   bool // the executable has no Go code
	targets []target
}

// target is a location to stop at.
type target struct {
	location string
	id       int // of its breakpoint; 0 where another target has one there
}

func (r *runner) locations() (out []string) {
	for _, t := range r.targets {
		out = append(out, t.location)
	}
	return out
}

// unplaced lists the locations that are not placed yet, and why one is not whose code is loaded.
func (r *runner) unplaced() (out []string, lack error) {
	var ids []int
	for _, t := range r.targets {
		ids = append(ids, t.id)
	}
	pending := r.session.PendingBreaks(ids...)
	for _, t := range r.targets {
		if why, ok := pending[t.id]; ok {
			out, lack = append(out, t.location), cmp.Or(lack, why)
		}
	}
	return out, lack
}

// reached says whether a stop is at one of the locations.
func (r *runner) reached(stop held.Stop) bool {
	return stop.Breakpoint != 0 && slices.ContainsFunc(r.targets, func(t target) bool { return t.id == stop.Breakpoint })
}

// fatalFunctions are the functions in which Go's runtime ends a program: after a panic,
// an error of the runtime, and a signal.
var fatalFunctions = []string{"runtime.fatalpanic", "runtime.fatalthrow", "runtime.fatalsignal"}

// stopWhereFatal sets breakpoints in the fatal functions if Delve has not: it knows
// functions by DWARF, and a stripped program has them in Go's table only. Test: in integration, TestFatalStripped.
func (r *runner) stopWhereFatal() (id int, err error) {
	if _, err := r.session.Locate(fatalFunctions[0]); err == nil || !errors.Is(err, held.ErrNoLocation) {
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

// place sets the breakpoint of a location, or has it wait for a library that has the location.
func (r *runner) place(location string) error {
	if _, err := r.process.Read(false); err != nil {
		return err
	}
	id, pending, err := r.session.BreakLocation(location)
	switch {
	case errors.Is(err, held.ErrNoLocation):
		return &UnknownLocationError{Location: location}
	case err != nil:
		return fmt.Errorf("breakpoint at %q: %w", location, err)
	case pending:
		r.say("location %q is not known yet: waiting for a library that has it", location)
	}
	r.targets = append(r.targets, target{location, id})
	return nil
}

func (r *runner) symbols(name string) ([]uint64, error) {
	v, err := r.process.Read(false)
	if err != nil {
		return nil, err
	}
	return v.Code().Find(name), nil
}
