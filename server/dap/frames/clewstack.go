package frames

import (
	"context"

	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/unwind"
)

// StackBody is the answer to clew/stack and clew/reunwind: a stack in the form of `clew stack
// --format json`, with the memory that its frames can lie on.
type StackBody struct {
	stackjson.Stack
	Segments []segment `json:"segments,omitempty"`
}

// segment is one stack of those that the thread's frames can lie on; a frame lies
// on the one that holds its SP.
type segment struct {
	Kind string            `json:"kind"` // thread, goroutine, g0 or signal
	Low  stackjson.Address `json:"low"`
	High stackjson.Address `json:"high"` // one past the end
}

// OnClewStack answers clew/stack: the frames of a stack with the evidence for
// each, in the form of `clew stack --format json`. startFrame and levels count
// frames, not labels; without levels the answer is the whole stack.
func (s *Stacks) OnClewStack(ctx context.Context, m *dapwire.Message) error {
	var want Page
	if err := m.Decode("arguments", &want); err != nil {
		return wire.ArgumentError(err)
	}
	if err := s.wire.Settle(ctx, m); err != nil {
		return err
	}
	var answer StackBody
	err := s.atStop(ctx, m.Seq, func(ctx context.Context, v *view) error {
		th, _, known, err := v.Resolve(want.ThreadID)
		if err != nil {
			return err
		}
		start, end := want.Frames()
		a, err := s.assemble(ctx, v, th, end, known)
		if err != nil {
			return err
		}
		answer = PartOf(v.Arch(), &a.found.Thread, &a.stack, start, end)
		return nil
	})
	if err == nil {
		s.wire.Client.Respond(m, answer)
	}
	return err
}

// PartOf is part of a thread's stack in JSON; frames keep their indices.
func PartOf(arch unwind.Arch, th *reading.Thread, s *unwind.Stack, start, end int) StackBody {
	part := *s
	part.Frames = part.Frames[min(start, len(part.Frames)):min(end, len(part.Frames))]
	out := StackBody{Stack: stackjson.FromStack(arch, &part, false)}
	for i := range out.Frames {
		out.Frames[i].Index = start + i
	}
	for _, g := range th.Segments {
		out.Segments = append(out.Segments, segment{g.Kind.String(), stackjson.Address(g.Low), stackjson.Address(g.High)})
	}
	return out
}
