package frames

import (
	"context"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve/reading"
)

// OnStackTrace answers with the assembled stack. Delve is asked first: that it
// answers means that the program stands still, its frames bring their IDs, and
// its answer goes out where clew has none.
func (s *Stacks) OnStackTrace(ctx context.Context, m *dapwire.Message) error {
	var want Page
	if m.Decode("arguments", &want) != nil {
		s.wire.Up.Forward(m, nil)
		return nil
	}
	if want.ThreadID >= debuggee.FirstID {
		return s.stackOfThread(ctx, m, want)
	}
	done := s.prefetch(ctx, m.Seq, want)
	defer done()
	answer, from, err := s.askStack(ctx, m, want)
	switch {
	case err != nil:
		return nil // both connections end
	case !answer.Success && s.lists(ctx, m):
		return s.stackOfThread(ctx, m, want)
	case answer.Success:
		s.improve(ctx, m, want, answer, from)
	}
	s.wire.Client.Send(answer)
	return nil
}

// improve makes Delve's answer one with the assembled stack; from is the index of its
// first frame. It stays as it is where clew has no stack, or the same.
func (s *Stacks) improve(ctx context.Context, m *dapwire.Message, want Page, answer *dapwire.Message, from int) {
	var body []byte // work that is given up may set it later
	err := s.atStop(ctx, m.Seq, func(ctx context.Context, v *view) (err error) {
		if done, err := s.answerGoStack(ctx, v, want, answer); done || err != nil {
			return err
		}
		v.take(want.ThreadID, from, answer)
		body, err = s.stackPage(ctx, v, want)
		return err
	})
	if err != nil {
		s.wire.Log("stackTrace: %v", err)
	} else if body != nil {
		answer.Set("body", body)
	}
}

// lists reports whether goroutines are listed that Delve does not know: see OnThreads.
func (s *Stacks) lists(ctx context.Context, m *dapwire.Message) (inLibrary bool) {
	err := s.atStop(ctx, m.Seq, func(_ context.Context, v *view) error {
		inLibrary = v.Target.InLibrary()
		return nil
	})
	return err == nil && inLibrary
}

// stackOfThread answers for a thread without a goroutine, of which Delve knows
// nothing. Delve is asked for the stack of the current thread all the same, which it
// refuses while the program runs.
func (s *Stacks) stackOfThread(ctx context.Context, m *dapwire.Message, want Page) error {
	answer, err := s.wire.Up.Inject(ctx, stackTraceRequest(Page{ThreadID: -1, Levels: 1}))
	if err != nil {
		return nil // both connections end
	}
	answer.SetRequestSeq(m.Seq)
	if answer.Success {
		var body []byte
		if err := s.atStop(ctx, m.Seq, func(ctx context.Context, v *view) (err error) {
			body, err = s.stackPage(ctx, v, want)
			return err
		}); err != nil {
			return err
		}
		answer.Set("body", body)
	}
	s.wire.Client.Send(answer)
	return nil
}

// assembleRows returns a stack with more than so many rows, if it has them: one row may stand
// for many frames.
func (s *Stacks) assembleRows(ctx context.Context, v *view, th reading.Thread, count int, delveKnows bool) (*assembled, []row, error) {
	for frames := count; ; frames = min(2*frames, MaxRows) {
		a, err := s.assemble(ctx, v, th, frames, delveKnows)
		if err != nil {
			return nil, nil, err
		}
		rows := a.rows(s.program.Config.Get().Annotate)
		last := len(a.stack.Frames) - 1
		grouped := last >= 0 && (len(rows) <= last || a.stack.Frames[last].Group != "")
		if !grouped || len(rows) > count || !a.stack.DepthLimited || frames >= MaxRows {
			return a, rows, nil
		}
	}
}

// stackPage returns the rows that a request asks for, as the body of a response.
func (s *Stacks) stackPage(ctx context.Context, v *view, want Page) ([]byte, error) {
	shown := s.program.Config.Get()
	start, last := max(want.StartFrame, 0), s.framesOf(want)
	th, delveID, known, err := v.Resolve(want.ThreadID)
	if err != nil {
		return nil, err
	}
	a, rows, err := s.assembleRows(ctx, v, th, last, known)
	if err != nil {
		return nil, err
	}
	total := len(rows)
	if a.stack.DepthLimited {
		total += shown.Depth
	}
	rows = rows[min(start, len(rows)):min(last, len(rows))]
	if err := s.fetch(ctx, v, a, delveID, rows); err != nil {
		return nil, err
	}
	w := rowWriter{bodyWriter: newBody(len(rows)), session: s.session, shown: shown}
	for i := range rows {
		if err := w.write(v, a, delveID, &rows[i]); err != nil {
			return nil, err
		}
	}
	return w.end(total), nil
}
