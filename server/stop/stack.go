package stop

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/unwind"
)

// Stack is the stack of one thread of control at a stop.
type Stack struct {
	unwind.Stack
	Thread reading.Thread // without claims
	Arch   unwind.Arch
	// Unclaimed says why Delve's frames are not known, "" if they are. It is the last
	// of the stack's notes, too.
	Unclaimed string

	stopped *Stopped
	depth   int            // that it was assembled to
	claims  []unwind.Frame // Delve's first frames, for steps; nil where they were not asked for
}

// Holds reports whether the stack has more than so many frames, or is complete: the
// caller of the last frame before a limit is not known.
func (st *Stack) Holds(frames int) bool { return !st.DepthLimited || len(st.Frames) > frames }

// leastDepth is assembled even where less is asked for: a client that asks for a
// frame soon asks for the next one. Most stacks are found whole that way, at once.
const leastDepth = 64

// Whole returns the stack of a thread of control, through any code, with at least
// so many frames if it has them. prepared is this stop's.
func (s *Stopped) Whole(ctx context.Context, prepared *engine.Prepared, th reading.Thread, frames int) (*Stack, error) {
	key := stackKey{KeyOf(&th), prepared}
	if st := s.stacks[key]; st != nil && st.Holds(frames) {
		return st, nil
	}
	c := claims{view: s.View, over: ctx.Err, depth: max(frames+1, leastDepth), th: th}
	st, err := s.assemble(ctx, prepared, th, assembler.Options{Asking: c.begin, Claims: c.of}, frames)
	found := c.of(0) // also where the stack failed: nothing goes on behind it
	if err != nil {
		return nil, err
	}
	st.claims = slices.Clone(found[:min(len(found), stepClaims)])
	if st.Unclaimed = c.note; c.note != "" {
		st.Notes = append(st.Notes, c.note)
	}
	s.stacks[key] = st
	return st, nil
}

func (s *Stopped) assemble(ctx context.Context, prepared *engine.Prepared, th reading.Thread, opts assembler.Options, frames int) (*Stack, error) {
	depth := max(frames+1, leastDepth)
	opts.MaxFrames = depth
	st := &Stack{Thread: th, Arch: s.Arch(), stopped: s, depth: depth}
	st.Thread.Claims = nil
	st.Stack = prepared.Stack(ctx, &th.Thread, opts)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // it may be truncated for that
	}
	return st, nil
}

// Found reports whether so many frames of a thread of control were found at this stop
// already.
func (s *Stopped) Found(key Key, prepared *engine.Prepared, frames int) bool {
	if st := s.goStacks[key]; st != nil {
		return st.Holds(frames)
	}
	st := s.stacks[stackKey{key, prepared}]
	return st != nil && st.Holds(frames)
}

// Stacks are the stacks that were found at this stop: by these strategies, else by
// Go's own tables.
func (s *Stopped) Stacks(prepared *engine.Prepared) (out []*Stack) {
	for key, st := range s.stacks {
		if key.prepared == prepared {
			out = append(out, st)
		}
	}
	for key, st := range s.goStacks {
		if st != nil && s.stacks[stackKey{key, prepared}] == nil {
			out = append(out, st)
		}
	}
	return out
}

// AllOptions say how [Stopped.All] works.
type AllOptions struct {
	Depth int            // most frames of a stack, 0: no limit
	Sink  assembler.Sink // takes the frames, of a single stack; may be nil
	Done  func()         // is called after each stack; may be nil
	// Share lets stacks that are alike have the same frames. Of those, addresses of code and
	// names are right, CFAs and registers only for one of the stacks.
	Share bool
	// AllRegisters keeps all registers of frames, for [Stopped.ValuesOf].
	AllRegisters bool
}

// describer is a [View] that knows more of threads and goroutines than their stacks.
type describer interface {
	Describe(th *reading.Thread, st *unwind.Stack)
}

// All is [Stopped.Each] with the stacks in a list.
func (s *Stopped) All(ctx context.Context, prepared *engine.Prepared, threads []reading.Thread, o AllOptions) []unwind.Stack {
	return slices.Collect(s.Each(ctx, prepared, threads, o))
}

// Each assembles the stacks of threads and goroutines of this stop anew, one after
// another, and keeps none. The threads get Delve's own frames. When ctx ends, there
// are fewer stacks, and the last may be truncated for that: the caller asks ctx.
func (s *Stopped) Each(ctx context.Context, prepared *engine.Prepared, threads []reading.Thread, o AllOptions) iter.Seq[unwind.Stack] {
	describe := func(*reading.Thread, *unwind.Stack) {}
	if d, ok := s.View.(describer); ok {
		describe = d.Describe
	}
	return func(yield func(unwind.Stack) bool) {
		models := newAlike(s.View)
		for i := range threads {
			if ctx.Err() != nil {
				return
			}
			stack, found := models.find(&threads[i], o.Share)
			if !found {
				stack = s.one(ctx, prepared, &threads[i], len(threads) > 1, o)
				if o.Sink == nil && !o.AllRegisters && ctx.Err() == nil {
					models.keep(&threads[i], &stack)
				}
			}
			describe(&threads[i], &stack)
			if !yield(stack) {
				return
			}
			if o.Done != nil {
				o.Done()
			}
		}
	}
}

// one assembles the stack of a thread of control, which may be one of many.
func (s *Stopped) one(ctx context.Context, prepared *engine.Prepared, th *reading.Thread, many bool, o AllOptions) (stack unwind.Stack) {
	opts := assembler.Options{MaxFrames: o.Depth, Sink: o.Sink, AllRegisters: o.AllRegisters}
	var note string
	switch {
	case th.ID == 0 && many:
		// Of many parked goroutines, Delve is asked for none: it searches its list
		// for each, and their stacks are all Go's, which its tables describe.
		stack = prepared.Stack(ctx, &th.Thread, opts)
	case o.Sink != nil && o.Depth == 0:
		note = claimSome(s.View, th)
		stack = prepared.Stack(ctx, &th.Thread, opts)
	default:
		stack, note = s.claimed(ctx, prepared, th, opts)
	}
	if note != "" {
		stack.Notes = append(stack.Notes, note)
	}
	return stack
}

// claimed assembles a stack with all of Delve's frames that it needs.
func (s *Stopped) claimed(ctx context.Context, prepared *engine.Prepared, th *reading.Thread, opts assembler.Options) (stack unwind.Stack, note string) {
	c := claims{view: s.View, over: ctx.Err, depth: cmp.Or(opts.MaxFrames, someClaims), grows: opts.MaxFrames == 0, th: *th}
	opts.Asking, opts.Claims = c.begin, c.of
	if s.InGo(th) { // no strategy is asked
		c.begin()
	}
	stack = prepared.Stack(ctx, &th.Thread, opts)
	th.Claims = c.of(0)
	return stack, c.note
}
