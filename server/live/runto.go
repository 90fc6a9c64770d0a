package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// RunTo lets the program run until it stops by itself, or at one of the locations. A
// location in a library that is not loaded yet is set when it is; notify is
// told when clew waits for that, and when the program stops by itself first. When
// ctx ends before the program stops, the error is the context's cause.
func (p *Process) RunTo(ctx context.Context, notify func(string), locations ...string) (delve.Stop, error) {
	s := p.session
	r := &runner{session: s, process: p, notify: notify, notGo: s.NotGo()}
	for _, location := range locations {
		r.targets = append(r.targets, target{location: location})
	}
	if err := r.start(); err != nil {
		return delve.Stop{}, err
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
	missing := r.unplaced()
	switch {
	case stop.Reason == delve.StopExited:
		return false, &ExitError{Status: stop.ExitStatus, Location: strings.Join(r.locations(), ", "), NotGo: r.notGo}
	case stop.Reason == delve.StopLibrary && len(missing) == 0:
		return false, nil // Delve's own stop in a program of C's, for breakpoints in Go
	case stop.Reason == delve.StopLibrary, stop.Breakpoint != 0 && !r.reached(stop):
		return false, r.libraries()
	case len(missing) > 0 && len(missing) == len(r.targets) && stop.Reason != delve.StopManual:
		return false, &UnknownLocationError{Location: missing[0], Stopped: stop.Reason}
	}
	r.elsewhere(stop)
	return true, nil
}

// elsewhere says that a program has stopped before it came to a location.
func (r *runner) elsewhere(stop delve.Stop) {
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
	held    []uint64 // addresses of the targets' breakpoints
	waiting []int    // breakpoints where libraries come
}

// target is a location to stop at.
type target struct {
	location string
	placed   bool
	id       int // of its breakpoint; 0 where another target has one there
}

func (r *runner) locations() (out []string) {
	for _, t := range r.targets {
		out = append(out, t.location)
	}
	return out
}

// unplaced lists the locations that are not known yet.
func (r *runner) unplaced() (out []string) {
	for _, t := range r.targets {
		if !t.placed {
			out = append(out, t.location)
		}
	}
	return out
}

// reached says whether a stop is at one of the locations.
func (r *runner) reached(stop delve.Stop) bool {
	return stop.Breakpoint != 0 && slices.ContainsFunc(r.targets, func(t target) bool { return t.id == stop.Breakpoint })
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

// start places the breakpoints, or one at the moment from which on they may be
// possible: the program's own main function, or its entry point, when the libraries
// that it is linked with are there. From there on, every change of the loader's list.
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
		return fmt.Errorf("location %q is not known, and neither is where to wait for it: %w", r.unplaced()[0], err)
	}
	if main = r.without(main); len(main) == 0 {
		return nil // it is one of the locations: the program stops there anyway
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
		return &UnknownLocationError{Location: r.unplaced()[0]}
	}
	for _, location := range r.unplaced() {
		r.say("location %q is not known yet: waiting for a library that has it", location)
	}
	id, err := r.session.BreakAt(hooks...)
	if err != nil {
		return fmt.Errorf("breakpoint at the dynamic loader's %s: %w", loaderHook, err)
	}
	r.waiting = append(r.waiting, id)
	return nil
}

// place sets the breakpoints of the locations that are known now: to Delve, or by a
// symbol of an image. It reports whether all are.
func (r *runner) place() (bool, error) {
	all := true
	for i := range r.targets {
		t := &r.targets[i]
		if t.placed {
			continue
		}
		addrs, err := r.session.Locate(t.location)
		if errors.Is(err, delve.ErrNoLocation) {
			addrs, err = r.symbols(t.location)
		}
		if err == nil && len(addrs) == 0 {
			addrs = r.session.LocateLine(t.location)
		}
		if err != nil {
			return false, err
		}
		if len(addrs) == 0 {
			all = false
			continue
		}
		t.placed = true
		if addrs = r.without(addrs); len(addrs) == 0 {
			continue
		}
		if t.id, err = r.session.BreakAt(addrs...); err != nil {
			return false, fmt.Errorf("breakpoint at %q: %w", t.location, err)
		}
		r.held = append(r.held, addrs...)
	}
	return all, nil
}

// without returns the addresses that no target has a breakpoint at.
func (r *runner) without(addrs []uint64) []uint64 {
	return slices.DeleteFunc(addrs, func(addr uint64) bool { return slices.Contains(r.held, addr) })
}

func (r *runner) symbols(name string) ([]uint64, error) {
	v, err := r.process.Read(false)
	if err != nil {
		return nil, err
	}
	return v.Code().Find(name), nil
}
