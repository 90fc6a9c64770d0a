package dap

import (
	"context"

	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/unwind"
)

// clewStack is the answer to clew/stack: a stack in the form of `clew stack
// --format json`, with the memory that its frames can lie on.
type clewStack struct {
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

// onClewStack answers clew/stack: the frames of a stack with the evidence for
// each, in the form of `clew stack --format json`. Startframe and levels count
// frames, of which labels are none; without levels the stack is given whole.
func (p *Proxy) onClewStack(ctx context.Context, m *dapwire.Message) {
	var want page
	if err := m.Decode("arguments", &want); err != nil {
		p.refuse(m, errStackTrace, "Unable to produce stack trace", err.Error())
		return
	}
	if !p.settle(ctx, m) {
		return
	}
	var answer clewStack
	err := p.atStop(ctx, m.Seq, func(ctx context.Context, v *view) error {
		th, _, known, err := v.resolve(want.ThreadID)
		if err != nil {
			return err
		}
		start, end := want.frames()
		a, err := p.assemble(ctx, v, th, end, known)
		if err != nil {
			return err
		}
		answer = stackPart(v.Arch(), &a.found.Thread, &a.stack, start, end)
		return nil
	})
	if err != nil {
		p.refuse(m, errStackTrace, "Unable to produce stack trace", err.Error())
		return
	}
	p.respond(m, &answer)
}

// frames returns which frames a request is about: from start up to end.
func (want *page) frames() (start, end int) {
	start, end = max(want.StartFrame, 0), maxRows
	if want.Levels > 0 && want.Levels < maxRows-start {
		end = start + want.Levels
	}
	return start, end
}

// stackPart is part of a thread's stack in JSON; frames keep their indices.
func stackPart(arch unwind.Arch, th *delve.Thread, s *unwind.Stack, start, end int) clewStack {
	part := *s
	part.Frames = part.Frames[min(start, len(part.Frames)):min(end, len(part.Frames))]
	out := clewStack{Stack: stackjson.FromStack(arch, &part, false)}
	for i := range out.Frames {
		out.Frames[i].Index = start + i
	}
	for _, g := range th.Segments {
		out.Segments = append(out.Segments, segment{g.Kind.String(), stackjson.Address(g.Low), stackjson.Address(g.High)})
	}
	return out
}

// settle waits until Delve has done what it was asked before, and stands still;
// if it does not, the request is refused in its words.
func (p *Proxy) settle(ctx context.Context, m *dapwire.Message) bool {
	answer, err := p.up.inject(ctx, "stackTrace", page{ThreadID: -1, Levels: 1})
	if err != nil {
		if p.ctx.Err() == nil { // else both connections end
			p.refuseOwn(m, err)
		}
		return false
	}
	if !answer.Success {
		details := "no stack"
		var body struct {
			Error struct {
				Format string `json:"format"`
			} `json:"error"`
		}
		if answer.Decode("body", &body) == nil && body.Error.Format != "" {
			details = body.Error.Format
		}
		p.refuse(m, errStackTrace, "Unable to process `"+m.Command+"`", details)
		return false
	}
	return true
}
