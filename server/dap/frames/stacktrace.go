package frames

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

// OnStackTrace answers with the assembled stack. Delve is asked first: that it
// answers means that the program stands still, its frames bring their IDs, and
// its answer goes out where clew has none.
func (s *Stacks) OnStackTrace(ctx context.Context, m *dapwire.Message) {
	var want Page
	if m.Decode("arguments", &want) != nil {
		s.wire.Up.Forward(m, nil)
		return
	}
	if want.ThreadID >= debuggee.FirstID {
		s.stackOfThread(ctx, m, want)
		return
	}
	done := s.prefetch(ctx, m.Seq, want)
	defer done()
	answer, from, err := s.askStack(ctx, m, want)
	if err != nil {
		return // both connections end
	}
	if !answer.Success {
		if s.lists(ctx, m) {
			s.stackOfThread(ctx, m, want)
			return
		}
		s.wire.Client.Send(answer)
		return
	}
	var body []byte
	if err := s.atStop(ctx, m.Seq, func(ctx context.Context, v *view) (err error) {
		if done, err := s.answerGoStack(ctx, v, want, answer); done || err != nil {
			return err
		}
		v.take(want.ThreadID, from, answer)
		body, err = s.stackPage(ctx, v, want)
		return err
	}); err != nil {
		s.wire.Log("stackTrace: %v", err)
		s.wire.Client.Send(answer)
		return
	}
	if body == nil { // Delve's own, confirmed
		s.wire.Client.Send(answer)
		return
	}
	answer.Set("body", body)
	s.wire.Client.Send(answer)
}

// lists says that goroutines are listed that Delve does not know: see onThreads.
func (s *Stacks) lists(ctx context.Context, m *dapwire.Message) (inLibrary bool) {
	err := s.atStop(ctx, m.Seq, func(_ context.Context, v *view) error {
		inLibrary = v.Target.InLibrary()
		return nil
	})
	return err == nil && inLibrary
}

// stackOfThread answers for a thread without a goroutine, of which Delve knows
// nothing. It is asked for the stack of the current thread all the same: the
// answer says whether the program stands still.
func (s *Stacks) stackOfThread(ctx context.Context, m *dapwire.Message, want Page) {
	answer, err := s.wire.Up.Inject(ctx, stackTraceRequest(Page{ThreadID: -1, Levels: 1}))
	if err != nil {
		return
	}
	answer.SetRequestSeq(m.Seq)
	if !answer.Success {
		s.wire.Client.Send(answer)
		return
	}
	var body []byte
	if err := s.atStop(ctx, m.Seq, func(ctx context.Context, v *view) (err error) {
		body, err = s.stackPage(ctx, v, want)
		return err
	}); err != nil {
		s.wire.Client.Refuse(m, wire.StackTraceFailed, "Unable to produce stack trace", err.Error())
		return
	}
	answer.Set("body", body)
	s.wire.Client.Send(answer)
}

// stackPage returns the rows that a request asks for, as the body of a response.
func (s *Stacks) stackPage(ctx context.Context, v *view, want Page) ([]byte, error) {
	depth, annotate := s.program.Config.Get()
	start, last := max(want.StartFrame, 0), s.framesOf(want)
	th, delveID, known, err := v.Resolve(want.ThreadID)
	if err != nil {
		return nil, err
	}
	a, err := s.assemble(ctx, v, th, last, known)
	if err != nil {
		return nil, err
	}
	rows := a.rows(annotate)
	total := len(rows)
	if a.stack.DepthLimited {
		total += depth
	}
	if start >= len(rows) {
		return stackBody(nil, total), nil
	}
	rows = rows[start:min(last, len(rows))]
	if err := s.fetch(ctx, v, a, delveID, rows); err != nil {
		return nil, err
	}
	frames := make([]json.RawMessage, len(rows))
	for i := range rows {
		if frames[i], err = s.frame(v, a, delveID, &rows[i], annotate); err != nil {
			return nil, err
		}
	}
	return stackBody(frames, total), nil
}

// assembled is the stack of one thread of control at a stop, with the IDs that the
// client was given.
type assembled struct {
	found  *stop.Stack
	stack  unwind.Stack // found's; it has no indices in Delve's stack where Delve does not know the thread
	ids    []int        // clew's ID of each frame, 0 where it has none yet
	labels map[int]int  // IDs, by the frame after the label
}

// assemble returns a stack with at least so many frames, if it has them.
func (s *Stacks) assemble(ctx context.Context, v *view, th delve.Thread, frames int, delveKnows bool) (*assembled, error) {
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
