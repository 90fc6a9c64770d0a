package terminal

import (
	"github.com/go-delve/delve/service"
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/stepping"
)

// steps are the commands that rest on the stack. Steps backwards are the
// recording's.
var steps = map[string]stepping.Command{api.Next: stepping.Next, api.Step: stepping.StepIn, api.StepOut: stepping.StepOut}

// command checks a step before Delve does it, and improves the state that commands
// end with. It returns when the command is done.
func (s *server) command(command api.DebuggerCommand, cb service.RPCCallback) {
	if command.Name == api.Halt {
		s.delve.Command(command, cb) // while another command has the gate
		return
	}
	s.gate.Lock()
	defer s.gate.Unlock()
	if !s.readable() {
		s.delve.Command(command, cb)
		return
	}
	if command.Name == api.SwitchThread || command.Name == api.SwitchGoroutine {
		defer s.stacks.Changed() // the selected stack is kept, too
	}
	session := s.session
	armed, err := s.prepareStep(&command)
	if err != nil {
		cb.Return(nil, err)
		return
	}
	s.delve.Command(command, &callback{cb, func(out any, err error) (any, error) {
		return s.commandDone(session, armed, out, err)
	}})
}

// commandDone ends a step that is over, or that Delve refused, and improves the state
// that the command returns.
func (s *server) commandDone(session *delve.Session, armed bool, out any, err error) (any, error) {
	result, ok := out.(rpc2.CommandOut)
	if ok && !result.State.NextInProgress || !ok && armed {
		if ended := session.EndStep(); ended != nil && err == nil {
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
func (c *callback) Return(out any, err error) { c.RPCCallback.Return(c.change(out, err)) }

// prepareStep makes a step safe, or refuses it: Delve places a breakpoint at the
// caller by its stack, which may be wrong, and resumes the program. armed says that
// clew has placed a breakpoint.
func (s *server) prepareStep(command *api.DebuggerCommand) (armed bool, err error) {
	step, ok := steps[command.Name]
	if !ok || !s.session.Live() || s.session.Stepping() {
		return false, nil // a core file, into which nothing is written; a step in a step, which Delve refuses
	}
	d, err := s.stacks.Plan(step, !s.plainSteps)
	if err != nil {
		s.logFallback(command.Name, err)
		return false, nil // as Delve would by itself
	}
	if err := d.Err(); err != nil {
		return false, err
	}
	armed, err = s.session.Arm(&d)
	switch {
	case err != nil && d.Action == stepping.Delegate:
		s.logFallback(command.Name, err)
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

// restart has Delve start the program again, and attaches to the new one.
func (s *server) restart(arg rpc2.RestartIn, cb service.RPCCallback) {
	s.gate.Lock()
	defer s.gate.Unlock()
	if s.session != nil {
		_ = s.session.EndStep()
	}
	s.delve.Restart(arg, &callback{cb, func(out any, err error) (any, error) {
		if err == nil {
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
