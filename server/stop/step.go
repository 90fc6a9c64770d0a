package stop

import (
	"context"

	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/unwind"
)

// stepClaims are the physical frames of Delve's that a decision on a step is made
// with.
const stepClaims = 32

// PlanStep decides how a thread of control of this stop is to step, and not through glue. It changes
// nothing. prepared is made of this view's input.
func PlanStep(ctx context.Context, v View, prepared *engine.Prepared, th reading.Thread, c stepping.Command) stepping.Decision {
	note := Claim(v, &th, stepClaims)
	return decide(v, &th, Step{Command: c, Here: true}, prepared.Stack(ctx, &th.Thread, assembler.Options{MaxFrames: stepping.Frames}), note)
}

// Step is a step that is asked for.
type Step struct {
	stepping.Command
	Here    bool   // breakpoints of clew's can be placed
	Through bool   // the glue between Go and C
	Call    uint64 // that a next goes into, 0 for none; see [stepping.Into]
}

// decide decides with a stack, and a note on Delve's.
func decide(v View, th *reading.Thread, step Step, stack unwind.Stack, note string) stepping.Decision {
	target := &v.EngineInput().Target
	situation := stepping.Situation{
		Arch: target.Arch, Thread: th.Thread, Executable: target.Executable, Stack: stack, Through: step.Through, Call: step.Call,
	}
	if step.Here {
		situation.Code = NativeOf(v, step.Through)
		situation.Native = situation.Code != nil && len(stack.Frames) > 0 && !v.EngineInput().Hosted.Contains(stack.Frames[0].PC.Raw())
	}
	d := stepping.Decide(step.Command, &situation)
	if note != "" && d.Reason != "" {
		d.Reason += "; " + note
	}
	return d
}

// Plan decides how a thread of control is to step, with the strategies only where the
// stack holds other code than Go's; see [stepping.Decision]. What was found of its stack at this stop
// is not walked again.
func (s *Stopped) Plan(ctx context.Context, th reading.Thread, step Step, prepare func(context.Context) (*engine.Prepared, error)) (d stepping.Decision, err error) {
	st, err := s.Go(ctx, th, stepping.Frames)
	if err != nil {
		return d, err
	}
	if st == nil {
		if st, err = s.whole(ctx, th, stepping.Frames, prepare); err != nil {
			return d, err
		}
	}
	note := st.Unclaimed
	if th.Claims = st.claims; th.Claims == nil {
		note = Claim(s.View, &th, stepClaims)
	}
	if step.Through && stepping.NearGlue(&st.Stack) {
		if st, err = s.whole(ctx, th, stepping.GlueFrames, prepare); err != nil {
			return d, err
		}
	}
	d = decide(s.View, &th, step, st.Stack, note)
	if ctx.Err() != nil {
		return d, context.Cause(ctx) // strategies may have been cut off
	}
	return d, nil
}

func (s *Stopped) whole(ctx context.Context, th reading.Thread, frames int, prepare func(context.Context) (*engine.Prepared, error)) (*Stack, error) {
	prepared, err := prepare(ctx)
	if err != nil {
		return nil, err
	}
	return s.Whole(ctx, prepared, th, frames)
}
