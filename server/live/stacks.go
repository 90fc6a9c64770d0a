package live

import (
	"context"

	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/unwind"
)

// StacksOptions say how [View.Stacks] works.
type StacksOptions struct {
	Depth int            // most frames of a stack, 0: no limit
	Sink  assembler.Sink // takes the frames, of a single stack; may be nil
	Done  func()         // is called after each stack; may be nil
}

// Stacks assembles the stacks of threads and goroutines of this stop, for which
// prepared was made. The threads are given Delve's own frames. When ctx ends,
// there are fewer stacks, and the last may be truncated for that: the caller
// asks ctx.
func (v *View) Stacks(ctx context.Context, prepared *engine.Prepared, threads []delve.Thread, o StacksOptions) []unwind.Stack {
	var stacks []unwind.Stack
	for i := range threads {
		if ctx.Err() != nil {
			break
		}
		note := ""
		if threads[i].ID != 0 || len(threads) == 1 {
			// Of many parked goroutines, Delve is asked for none: it searches its list
			// for each, and their stacks are all Go's, which its tables describe.
			note = v.Claim(&threads[i], o.Depth)
		}
		stack := prepared.Stack(ctx, &threads[i].Thread, assembler.Options{MaxFrames: o.Depth, Sink: o.Sink})
		if note != "" {
			stack.Notes = append(stack.Notes, note)
		}
		stacks = append(stacks, stack)
		if o.Done != nil {
			o.Done()
		}
	}
	return stacks
}
