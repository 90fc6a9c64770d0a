package live

import (
	"context"
	"errors"

	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/stepping"
)

// stepClaims is how many of Delve's frames a decision on a step looks at: enough
// that [stepping.Frames] physical ones are among them, however many calls are
// inlined.
const stepClaims = 32

// PlanStep decides how a thread or goroutine of this stop is to step. It changes
// nothing. prepared is the engine with this view's input.
func (v *View) PlanStep(ctx context.Context, prepared *engine.Prepared, th delve.Thread, c stepping.Command) stepping.Decision {
	note := v.Claim(&th, stepClaims)
	s := stepping.Situation{
		Arch: v.Input.Target.Arch, Thread: th.Thread, Executable: v.Input.Target.Executable,
		Stack: prepared.Stack(ctx, &th.Thread, assembler.Options{MaxFrames: stepping.Frames}),
	}
	d := stepping.Decide(c, &s)
	if note != "" && d.Reason != "" {
		d.Reason += "; " + note
	}
	return d
}

// Step does a step of the thread that stopped the program, safely, and waits for
// its end. The error is a [*stepping.RefusedError] where nobody knows enough for
// it; then nothing has run.
func (p *Process) Step(ctx context.Context, e *engine.Engine, c stepping.Command) (delve.Stop, stepping.Decision, error) {
	v, err := p.Look(false)
	if err != nil {
		return delve.Stop{}, stepping.Decision{}, err
	}
	th, err := v.Current()
	if err != nil {
		return delve.Stop{}, stepping.Decision{}, err
	}
	d := v.PlanStep(ctx, e.Prepare(ctx, &v.Input), th, c)
	stop, err := Perform(ctx, p.session, &d)
	return stop, d, err
}

// Perform does what was decided, and waits for its end. Nothing may have run
// since the decision.
func Perform(ctx context.Context, s *delve.Session, d *stepping.Decision) (delve.Stop, error) {
	if err := d.Err(); err != nil {
		return delve.Stop{}, err
	}
	if d.Action == stepping.Delegate {
		return s.Step(ctx, d.Command)
	}
	if err := s.Arm(d.Caller); err != nil {
		return delve.Stop{}, err
	}
	resume := s.Continue
	if d.Action == stepping.Assist {
		resume = func(ctx context.Context) (delve.Stop, error) { return s.Step(ctx, d.Command) }
	}
	stop, err := resume(ctx)
	return stop, errors.Join(err, s.EndStep())
}
