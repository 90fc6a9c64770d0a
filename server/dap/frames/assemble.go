package frames

import (
	"context"
	"slices"

	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/stop"
)

// assemble returns a stack with at least so many frames, if it has them.
func (s *Stacks) assemble(ctx context.Context, v *view, th reading.Thread, frames int, delveKnows bool) (*assembled, error) {
	if err := s.program.Prepare(ctx, v.View); err != nil {
		return nil, err
	}
	found, err := v.Whole(ctx, v.Prepared, th, frames)
	if err != nil {
		return nil, err
	}
	key := stop.KeyOf(&th)
	before := v.stacks[key]
	if before != nil && before.found == found {
		return before, nil
	}
	a := &assembled{found: found, stack: found.Stack, ids: make([]int, len(found.Frames)), labels: make(map[int]int)}
	notes := found.Notes
	if found.Unclaimed != "" {
		notes = notes[:len(notes)-1]
	}
	s.notes.show(notes)
	if !delveKnows {
		a.stack.Frames = slices.Clone(found.Frames)
		for i := range a.stack.Frames {
			a.stack.Frames[i].DelveFrame = -1 // its index is of no use: nothing can be asked by it
		}
	}
	if before != nil {
		a.inherit(before)
	}
	v.stacks[key] = a
	return a, nil
}

// inherit takes the IDs that frames had when less of the stack was known.
func (a *assembled) inherit(before *assembled) {
	for i := range min(len(a.ids), len(before.ids)) {
		f, g := &a.stack.Frames[i], &before.stack.Frames[i]
		if f.PC != g.PC || f.Function != g.Function {
			return
		}
		a.ids[i] = before.ids[i]
		if id, ok := before.labels[i]; ok {
			a.labels[i] = id
		}
	}
}
