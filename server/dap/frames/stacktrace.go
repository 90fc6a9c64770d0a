package frames

import (
	"context"
	"encoding/json"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
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
	shown := s.program.Config.Get()
	start, last := max(want.StartFrame, 0), s.framesOf(want)
	th, delveID, known, err := v.Resolve(want.ThreadID)
	if err != nil {
		return nil, err
	}
	a, err := s.assemble(ctx, v, th, last, known)
	if err != nil {
		return nil, err
	}
	rows := a.rows(shown.Annotate)
	total := len(rows)
	if a.stack.DepthLimited {
		total += shown.Depth
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
		if frames[i], err = s.frame(v, a, delveID, &rows[i], shown); err != nil {
			return nil, err
		}
	}
	return stackBody(frames, total), nil
}
