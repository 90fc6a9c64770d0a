package stop

import (
	"context"

	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/stepping"
)

// stepClaims are the physical frames of Delve's that a decision on a step is made
// with.
const stepClaims = 32

// PlanStep decides how a thread of control of this stop is to step. It changes
// nothing. prepared is made of this view's input.
func PlanStep(ctx context.Context, v View, prepared *engine.Prepared, th delve.Thread, c stepping.Command) stepping.Decision {
	note := Claim(v, &th, stepClaims)
	target := &v.EngineInput().Target
	s := stepping.Situation{
		Arch: target.Arch, Thread: th.Thread, Executable: target.Executable,
		Stack: prepared.Stack(ctx, &th.Thread, assembler.Options{MaxFrames: stepping.Frames}),
	}
	d := stepping.Decide(c, &s)
	if note != "" && d.Reason != "" {
		d.Reason += "; " + note
	}
	return d
}

// Plan is [PlanStep] with the strategies only where the stack holds other code
// than Go's.
func (s *Stopped) Plan(ctx context.Context, th delve.Thread, c stepping.Command, prepare func(context.Context) (*engine.Prepared, error)) (d stepping.Decision, err error) {
	prepared := s.native
	if st, err := s.Go(ctx, th, stepping.Frames); err != nil {
		return d, err
	} else if st == nil {
		if prepared, err = prepare(ctx); err != nil {
			return d, err
		}
	}
	d = PlanStep(ctx, s.View, prepared, th, c)
	if ctx.Err() != nil {
		return d, context.Cause(ctx) // strategies may have been cut off
	}
	return d, nil
}
