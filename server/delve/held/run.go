package held

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service/api"

	"github.com/clewdbg/clew/server/stepping"
)

// StopReason says why the target stopped.
type StopReason string

// The reasons that [Session.Continue] returns.
const (
	StopBreakpoint StopReason = "breakpoint"
	StopHardcoded  StopReason = "breakpoint instruction in the program"
	StopPanic      StopReason = "unrecovered panic"
	StopFatal      StopReason = "fatal error"
	StopManual     StopReason = "interrupted"
	StopExited     StopReason = "exited"
	StopStepped    StopReason = "step finished"
	StopLibrary    StopReason = "a library with Go code was loaded"
	StopOther      StopReason = "stopped"
)

// Stop describes a stop of the target.
type Stop struct {
	Reason     StopReason
	Breakpoint int // ID of the breakpoint that was hit, 0 if none
	ExitStatus int // if Reason is StopExited
}

// Continue lets the target run until it stops or ctx ends, which halts it.
func (p *Program) Continue(ctx context.Context) (Stop, error) { return p.run(ctx, api.Continue) }

// Step has Delve do a step of the selected goroutine, as Delve understands it.
// Whether that is safe is decided by package stepping.
func (p *Program) Step(ctx context.Context, c stepping.Command) (Stop, error) {
	name, ok := delveNames[c]
	if !ok {
		return Stop{}, fmt.Errorf("unknown step %s", c)
	}
	return p.run(ctx, name)
}

// delveNames are the steps' names in Delve's interface.
var delveNames = map[stepping.Command]string{
	stepping.Next: api.Next, stepping.StepIn: api.Step, stepping.StepOut: api.StepOut,
}

// run resumes the target by one of Delve's commands. Delve forgets a request to
// halt that comes before the target runs, so the halt waits for that.
func (p *Program) run(ctx context.Context, command string) (Stop, error) {
	if ctx.Err() != nil {
		return Stop{Reason: StopManual}, nil
	}
	resumed, done, watcher := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watcher)
		for _, event := range []<-chan struct{}{ctx.Done(), resumed} {
			select {
			case <-event:
			case <-done:
				return
			}
		}
		_, _ = p.Door.Command(&api.DebuggerCommand{Name: api.Halt}, nil)
	}()
	state, err := p.Door.Command(&api.DebuggerCommand{Name: command}, resumed)
	close(done)
	<-watcher
	if err != nil {
		if exited, ok := errors.AsType[proc.ErrProcessExited](err); ok {
			return Stop{Reason: StopExited, ExitStatus: exited.Status}, nil
		}
		return Stop{}, fmt.Errorf("%s: %w", command, OneLine(err))
	}
	return p.describe(state), nil
}

// breakpointReasons are the reasons of stops at Delve's internal breakpoints.
var breakpointReasons = map[string]StopReason{
	proc.UnrecoveredPanic: StopPanic, proc.FatalThrow: StopFatal, proc.HardcodedBreakpoint: StopHardcoded,
}

func (p *Program) describe(state *api.DebuggerState) Stop {
	if state.Exited {
		return Stop{Reason: StopExited, ExitStatus: state.ExitStatus}
	}
	t, err := p.Target()
	if err != nil {
		return Stop{Reason: StopOther} // another has resumed it
	}
	if t.StopReason == proc.StopNextFinished {
		return Stop{Reason: StopStepped}
	}
	if th := state.CurrentThread; th != nil && th.Breakpoint != nil {
		if reason, ok := breakpointReasons[th.Breakpoint.Name]; ok {
			return Stop{Reason: reason}
		}
		return Stop{Reason: StopBreakpoint, Breakpoint: th.Breakpoint.ID}
	}
	switch t.StopReason {
	case proc.StopHardcodedBreakpoint:
		return Stop{Reason: StopHardcoded}
	case proc.StopManual:
		return Stop{Reason: StopManual}
	case proc.StopSharedLibLoaded:
		return Stop{Reason: StopLibrary}
	}
	return Stop{Reason: StopOther}
}

// BreakAt sets a breakpoint at addresses and returns its ID.
func (p *Program) BreakAt(addrs ...uint64) (int, error) {
	bp, err := p.Door.CreateBreakpoint(&api.Breakpoint{Addrs: addrs, AddrPid: slices.Repeat([]int{p.Pid()}, len(addrs))})
	if err != nil {
		return 0, OneLine(err)
	}
	return bp.ID, nil
}

// EntryPoint is the address where the program itself begins, when the libraries that
// it is linked with are loaded.
func (p *Program) EntryPoint() (uint64, error) {
	t, err := p.Target()
	if err != nil {
		return 0, err
	}
	return t.EntryPoint()
}

// ClearBreak removes a breakpoint.
func (p *Program) ClearBreak(id int) error {
	return p.Door.ClearBreakpoint(id)
}

// ErrNoLocation says that Delve finds no code at a location.
var ErrNoLocation = errors.New("no such location")

// Locate finds the addresses of a location in Delve's notation (a function,
// FILE:LINE, *ADDRESS), in images that are loaded now and have DWARF. The error wraps
// [ErrNoLocation].
func (p *Program) Locate(loc string) (addrs []uint64, err error) {
	defer func() {
		if r := recover(); r != nil { // Delve looks at the stack, and its reader of tables panics where they are damaged
			addrs, err = nil, fmt.Errorf("%w: Delve's search: %v", ErrNoLocation, r)
		}
	}()
	locs, err := p.Door.FindLocation(loc, false)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoLocation, OneLine(err))
	}
	for _, l := range locs {
		for _, pc := range append(l.PCs, l.PC) { // PC is the first of PCs, where there are any
			if pc != 0 && !slices.Contains(addrs, pc) {
				addrs = append(addrs, pc)
			}
		}
	}
	if len(addrs) == 0 {
		return nil, fmt.Errorf("%w: no code there", ErrNoLocation)
	}
	return addrs, nil
}
