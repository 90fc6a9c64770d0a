package dap

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve/door"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/server/stop"
)

// stepCommands are the requests that rest on the stack. A step back is the recording's.
var stepCommands = map[string]stepping.Command{"next": stepping.Next, "stepIn": stepping.StepIn, "stepOut": stepping.StepOut}

// stepper checks steps before Delve does them.
type stepper struct {
	wire    *wire.Bridge
	program *debuggee.Program
	run     *running
	targets *targets
	armed   atomic.Pointer[debuggee.Target] // has a breakpoint of a step of clew's
}

// onStep checks a step before Delve does it: Delve places a breakpoint at what it
// believes to be the caller, and lets the program run.
func (s *stepper) onStep(ctx context.Context, m *dapwire.Message) error {
	var args dap.StepInArguments
	if m.Decode("arguments", &args) != nil {
		s.wire.Up.Forward(m, nil)
		return nil
	}
	thread := int64(args.ThreadId)
	if tid, ok := debuggee.ThreadOf(thread); ok {
		// For Delve a thread without a goroutine can step only while it is the
		// current one.
		if err := s.program.AtStop(ctx, m.Seq, func(_ context.Context, v *debuggee.View) error { return v.Target.SelectThread(tid) }); err != nil {
			return err
		}
		s.run.alias.MapThread(m)
	}
	command, ok := stepCommands[m.Command]
	if t := s.program.Target(); t != nil && !t.Live() {
		ok = false // a core file or a recording: nothing is written into it
	}
	if !ok || args.Granularity == "instruction" {
		s.run.resume(m, nil)
		return nil
	}
	session, d, err := s.decide(ctx, m.Seq, thread, command, args.TargetId)
	switch {
	case err == nil:
		return s.perform(m, session, &d, thread)
	case command == stepping.StepIn && args.TargetId != 0:
		return err // Delve would go into another call
	}
	s.wire.Log("%s: %v", m.Command, err)
	s.run.resume(m, nil) // as Delve would by itself
	return nil
}

// decide decides how to step: into the call that has the ID target, if that is not 0.
func (s *stepper) decide(ctx context.Context, request, thread int64, command stepping.Command, target int) (session debuggee.Target, d stepping.Decision, err error) {
	step := stop.Step{Command: command}
	err = s.program.AtStop(ctx, request, func(ctx context.Context, v *debuggee.View) (err error) {
		session = v.Target
		if command == stepping.StepIn && target != 0 {
			step.Command = stepping.Next
			if step.Call, err = s.targets.call(v.At, target); err != nil {
				return err
			}
		}
		d, err = s.plan(ctx, v, thread, step)
		return err
	})
	return session, d, err
}

// plan decides how to step.
func (s *stepper) plan(ctx context.Context, v *debuggee.View, thread int64, step stop.Step) (d stepping.Decision, err error) {
	th, _, _, err := v.Resolve(thread)
	if err != nil {
		return d, err
	}
	_, step.Here = v.Target.(debuggee.Inserter) // else no breakpoint of clew's can be placed
	step.Through = step.Here && !s.program.Config.Get().PlainSteps
	return v.Plan(ctx, th, step, func(ctx context.Context) (*engine.Prepared, error) {
		err := s.program.Prepare(ctx, v)
		return v.Prepared, err
	})
}

// perform does a step as it was decided.
func (s *stepper) perform(m *dapwire.Message, t debuggee.Target, d *stepping.Decision, thread int64) error {
	if err := d.Err(); err != nil {
		return err
	}
	armed := false
	if d.Armed() {
		var err error
		if armed, err = t.Arm(d); err != nil && (d.Action != stepping.Delegate || d.Into != nil) {
			return err
		}
		armed = armed && err == nil // else as Delve would by itself
	}
	if !armed {
		s.run.resume(m, nil)
		return nil
	}
	s.armed.Store(&t)
	command := m.Command
	if d.Into != nil {
		m.Set("command", []byte(`"next"`))
	}
	if d.Action == stepping.Return {
		// A plain continue, which for the client is the step that it asked for.
		s.wire.Client.Event(&dap.ContinuedEvent{Event: dap.Event{Event: "continued"}, Body: dap.ContinuedEventBody{ThreadId: int(thread), AllThreadsContinued: true}})
		m.Set("command", []byte(`"continue"`))
	}
	s.run.resume(m, func(answer *dapwire.Message) {
		if answer.Text("command") != command {
			answer.Set("command", []byte(`"`+command+`"`))
			answer.Set("body", []byte("{}"))
		}
		if !answer.Success {
			s.end()
		}
	})
	return nil
}

// endPatience bounds the clearing of a step's breakpoint; events wait for it.
const endPatience = 2 * time.Second

// end forgets a step that is not finished. It is called at every stop.
func (s *stepper) end() {
	t := s.armed.Swap(nil)
	if t == nil {
		return
	}
	done := make(chan error, 1)
	go func() { done <- (*t).EndStep() }()
	select {
	case err := <-done:
		if errors.Is(err, door.ErrRunning) {
			s.armed.CompareAndSwap(nil, t) // the client has resumed it before it knew of the stop: at the next one
		} else if err != nil {
			s.wire.Client.Warn(err.Error())
		}
	case <-time.After(endPatience):
		s.wire.Log("a step's breakpoint is not cleared")
	}
}
