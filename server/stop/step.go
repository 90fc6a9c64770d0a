package stop

import (
	"context"

	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/unwind"
)

// stepClaims are the physical frames of Delve's that a decision on a step is made
// with.
const stepClaims = 32

// PlanStep decides how a thread of control of this stop is to step, and not through glue. It changes
// nothing. prepared is made of this view's input.
func PlanStep(ctx context.Context, v View, prepared *engine.Prepared, th delve.Thread, c stepping.Command) stepping.Decision {
	note := Claim(v, &th, stepClaims)
	return decide(v, &th, c, false, prepared.Stack(ctx, &th.Thread, assembler.Options{MaxFrames: stepping.Frames}), note)
}

// decide decides with a stack, and a note on Delve's.
func decide(v View, th *delve.Thread, c stepping.Command, through bool, stack unwind.Stack, note string) stepping.Decision {
	target := &v.EngineInput().Target
	d := stepping.Decide(c, &stepping.Situation{
		Arch: target.Arch, Thread: th.Thread, Executable: target.Executable, Stack: stack, Through: through,
	})
	if note != "" && d.Reason != "" {
		d.Reason += "; " + note
	}
	d.Callee = func(pc uint64) string {
		fn, _ := target.Code.Function(unwind.LookupAddr(pc))
		return fn.Name
	}
	if all, ok := target.Code.(interface{ Find(string) []uint64 }); ok {
		d.Find = all.Find
	}
	return d
}

// Plan decides how a thread of control is to step, with the strategies only where the
// stack holds other code than Go's; see [stepping.Decision].
func (s *Stopped) Plan(ctx context.Context, th delve.Thread, c stepping.Command, through bool, prepare func(context.Context) (*engine.Prepared, error)) (d stepping.Decision, err error) {
	prepared := s.native
	if st, err := s.Go(ctx, th, stepping.Frames); err != nil {
		return d, err
	} else if st == nil {
		if prepared, err = prepare(ctx); err != nil {
			return d, err
		}
	}
	note := Claim(s.View, &th, stepClaims)
	stack := prepared.Stack(ctx, &th.Thread, assembler.Options{MaxFrames: stepping.Frames})
	if through && stepping.NearGlue(&stack) {
		if prepared, err = prepare(ctx); err != nil {
			return d, err
		}
		stack = prepared.Stack(ctx, &th.Thread, assembler.Options{MaxFrames: stepping.GlueFrames})
	}
	d = decide(s.View, &th, c, through, stack, note)
	if ctx.Err() != nil {
		return d, context.Cause(ctx) // strategies may have been cut off
	}
	return d, nil
}
