package terminal

import (
	"context"
	"errors"
	"slices"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service"
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/server/delve/interpose"
	common "github.com/clewdbg/clew/server/session"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/server/stop"
)

// steps are the commands that rest on the stack. Steps backwards are the
// recording's.
var steps = map[string]stepping.Command{api.Next: stepping.Next, api.Step: stepping.StepIn, api.StepOut: stepping.StepOut}

// command checks a step before Delve does it, and improves the state that commands
// end with. It returns when the command is done.
// run is the command's, nil for one that does not let the program run.
func (s *server) command(command api.DebuggerCommand, run *common.Run, cb service.RPCCallback) {
	s.gate.Lock()
	defer s.gate.Unlock()
	if !s.readable() {
		s.resume(command, run, cb)
		return
	}
	if command.Name == api.SwitchThread || command.Name == api.SwitchGoroutine {
		defer s.stacks.Changed() // the selected stack is kept, too
	}
	held := s.session
	armed, err := s.prepareStep(&command)
	if err != nil {
		cb.Return(nil, err)
		return
	}
	s.resume(command, run, &callback{cb, func(out any, err error) (any, error) {
		return s.commandDone(held, armed, out, err)
	}})
}

// resume has Delve carry out a command. A stop that no client wants, and no breakpoint has
// caused, is one for work aside: the program goes on.
func (s *server) resume(command api.DebuggerCommand, run *common.Run, cb service.RPCCallback) {
	if run == nil {
		s.delve.Command(command, cb)
		return
	}
	run.Began()
	if s.dbg == nil { // the server is in another process, where no work is done aside
		s.delve.Command(command, cb)
		return
	}
	s.keepSteps()
	answer := cb
	for aside := true; aside; {
		aside = false
		s.delve.Command(command, &callback{cb, func(out any, err error) (any, error) {
			result, ok := out.(rpc2.CommandOut)
			if !ok || err != nil || result.State.Exited || s.dbg.StopReason() != proc.StopManual {
				return out, err
			}
			if !atBreakpoint(&result.State) {
				run.Asides(context.Background())
				if !run.Wanted() {
					aside = true
					return nil, errAside
				}
			}
			if result.State.NextInProgress && s.dbg.CancelNext() == nil {
				result.State.NextInProgress = false
			}
			return result, err
		}})
		command.Name = api.DirectionCongruentContinue
		cb = &again{answer}
	}
}

// keepSteps has a step survive a halt for work aside.
func (s *server) keepSteps() {
	group, unlock := s.dbg.LockTargetGroup()
	defer unlock()
	group.KeepSteppingBreakpoints |= proc.HaltKeepsSteppingBreakpoints
}

// errAside is returned instead of a stop for work aside. No client gets it.
var errAside = errors.New("stopped for work aside")

// again is the callback of a command that goes on: the client's next request can be read already.
type again struct{ service.RPCCallback }

// SetupDoneChan implements [service.RPCCallback].
func (*again) SetupDoneChan() chan struct{} { return nil }

// atBreakpoint says that a thread is at a breakpoint, which is not just one that logs.
func atBreakpoint(state *api.DebuggerState) bool {
	return slices.ContainsFunc(state.Threads, func(th *api.Thread) bool { return th.Breakpoint != nil && th.Breakpoint.UserData == nil })
}

// commandDone ends a step that is over, or that Delve refused, and improves the state
// that the command returns.
func (s *server) commandDone(held Held, armed bool, out any, err error) (any, error) {
	result, ok := out.(rpc2.CommandOut)
	if ok && !result.State.NextInProgress || !ok && armed {
		if ended := held.EndStep(); ended != nil && err == nil {
			return nil, ended
		}
	}
	if ok && !result.State.Exited && s.readable() {
		s.improve(&result.State)
		out = result
	}
	return out, err
}

// callback changes what a method returns.
type callback struct {
	service.RPCCallback
	change func(out any, err error) (any, error)
}

// Return sends the client the changed answer.
func (c *callback) Return(out any, err error) {
	if out, err = c.change(out, err); !errors.Is(err, errAside) {
		c.RPCCallback.Return(out, err)
	}
}

// prepareStep makes a step safe, or refuses it: Delve places a breakpoint at the
// caller by its stack, which may be wrong, and resumes the program. armed says that
// clew has placed a breakpoint.
func (s *server) prepareStep(command *api.DebuggerCommand) (armed bool, err error) {
	step, ok := steps[command.Name]
	if !ok || !s.session.Live() || s.session.Stepping() {
		return false, nil // a core file, into which nothing is written; a step in a step, which Delve refuses
	}
	d, err := s.stacks.Plan(stop.Step{Command: step, Here: s.dbg != nil, Through: !s.plainSteps})
	if err != nil {
		logFallback(command.Name, err)
		return false, nil // as Delve would by itself
	}
	if err := d.Err(); err != nil {
		return false, err
	}
	armed, err = s.session.Arm(&d)
	switch {
	case err != nil && d.Action == stepping.Delegate:
		logFallback(command.Name, err)
		return false, nil // as Delve would by itself
	case err == nil && d.Action == stepping.Return:
		command.Name = api.Continue // to the breakpoint at the caller
	}
	return armed, err
}

// cancelNext ends a step that was interrupted.
func (s *server) cancelNext(arg rpc2.CancelNextIn, out *rpc2.CancelNextOut) error {
	s.gate.Lock()
	defer s.gate.Unlock()
	err := s.delve.CancelNext(arg, out)
	if s.session != nil {
		_ = s.session.EndStep() // its error would be about a step that is cancelled
	}
	return err
}

// restart has Delve start the program again, and attaches to the new one. A program of another process's Delve sees by itself
// that it is another.
func (s *server) restart(arg rpc2.RestartIn, cb service.RPCCallback) {
	s.gate.Lock()
	defer s.gate.Unlock()
	if s.session != nil {
		_ = s.session.EndStep()
	}
	interpose.Restarting()
	s.delve.Restart(arg, &callback{cb, func(out any, err error) (any, error) {
		if err == nil && s.dbg != nil {
			s.attach()
		}
		return out, err
	}})
}

// setExecutionPoint moves the current thread to another instruction, which changes
// its stack.
func (s *server) setExecutionPoint(arg rpc2.SetExecutionPointIn, out *rpc2.SetExecutionPointOut) error {
	s.gate.Lock()
	defer s.gate.Unlock()
	defer s.changed()
	return s.delve.SetExecutionPoint(arg, out)
}
