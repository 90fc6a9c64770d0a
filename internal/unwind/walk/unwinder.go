package walk

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/clewdbg/clew/unwind"
)

// Unwinder is an [unwind.Unwinder] without Update. S is the state that Update
// makes; it does not change once it is set.
type Unwinder[S any] struct {
	Description unwind.Description
	// Rules is the name of its rules in messages: "DWARF rules".
	Rules string
	// Run fills in the result of a walk on one of its architectures, of at least one
	// step. The only error is the context's.
	Run func(ctx context.Context, w Walk, state *S) error

	state atomic.Pointer[S]
	yield atomic.Pointer[unwind.RangeSet]
}

// State returns the state that was set last; at first nil.
func (u *Unwinder[S]) State() *S { return u.state.Load() }

// Set sets the state.
func (u *Unwinder[S]) Set(state *S) { u.state.Store(state) }

// Describe implements [unwind.Unwinder].
func (u *Unwinder[S]) Describe(context.Context) (unwind.Description, error) {
	return u.Description, nil
}

// Yield implements [unwind.Unwinder].
func (u *Unwinder[S]) Yield(_ context.Context, ranges unwind.RangeSet) error {
	set := unwind.NewRangeSet(ranges...) // a copy, and searchable whatever came over the wire
	u.yield.Store(&set)
	return nil
}

// Walk implements [unwind.Unwinder]. The only error is ctx's.
func (u *Unwinder[S]) Walk(ctx context.Context, requests []unwind.WalkRequest) ([]unwind.WalkResult, error) {
	w := Walk{}
	if yield := u.yield.Load(); yield != nil {
		w.yield = *yield
	}
	state := u.state.Load()
	results := make([]unwind.WalkResult, len(requests))
	for i := range requests {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		w.Arch, w.Request, w.Result = requests[i].Arch, &requests[i], &results[i]
		switch {
		case !slices.Contains(u.Description.Arches, w.Arch):
			w.Stop(unwind.StopNoRule, "no %s for %v", u.Rules, w.Arch)
		case w.Request.MaxFrames < 1:
			w.Result.Stop = unwind.StopLimit
		default:
			if err := u.Run(ctx, w, state); err != nil {
				return nil, err
			}
		}
	}
	return results, nil
}
