package dap

import (
	"context"
	"encoding/json"

	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/unwind"
)

// onStackTrace answers with the assembled stack. Delve is asked first: that it
// answers means that the program stands still, its frames bring their IDs, and
// its answer goes out where clew has none.
func (p *Proxy) onStackTrace(ctx context.Context, m *dapwire.Message) {
	var want page
	if m.Decode("arguments", &want) != nil {
		p.up.Forward(m, nil)
		return
	}
	if want.ThreadID >= FirstID {
		p.stackOfThread(ctx, m, want)
		return
	}
	done := p.lookAhead(ctx, m.Seq, want)
	defer done()
	answer, from, err := p.askStack(ctx, m, want)
	if err != nil {
		return // both connections end
	}
	if !answer.Success {
		if p.lists(ctx, m) {
			p.stackOfThread(ctx, m, want)
			return
		}
		p.client.Send(answer)
		return
	}
	var body []byte
	if err := p.own(ctx, m.Seq, func(ctx context.Context, v *view) (err error) {
		if p.answerGoStack(ctx, v, want, answer) {
			return nil
		}
		v.take(want.ThreadID, from, answer)
		body, err = p.stackPage(ctx, v, want)
		return err
	}); err != nil {
		p.opts.Log("stackTrace: %v", err)
		p.client.Send(answer)
		return
	}
	if body == nil { // Delve's own, confirmed
		p.client.Send(answer)
		return
	}
	answer.Set("body", body)
	p.client.Send(answer)
}

// lists says that goroutines are listed that Delve does not know: see onThreads.
func (p *Proxy) lists(ctx context.Context, m *dapwire.Message) (inLibrary bool) {
	err := p.own(ctx, m.Seq, func(_ context.Context, v *view) error {
		inLibrary = v.session.InLibrary()
		return nil
	})
	return err == nil && inLibrary
}

// stackOfThread answers for a thread without a goroutine, of which Delve knows
// nothing. It is asked for the stack of the current thread all the same: the
// answer says whether the program stands still.
func (p *Proxy) stackOfThread(ctx context.Context, m *dapwire.Message, want page) {
	answer, err := p.up.Inject(ctx, stackTraceRequest(page{ThreadID: -1, Levels: 1}))
	if err != nil {
		return
	}
	answer.SetRequestSeq(m.Seq)
	if !answer.Success {
		p.client.Send(answer)
		return
	}
	var body []byte
	if err := p.own(ctx, m.Seq, func(ctx context.Context, v *view) (err error) {
		body, err = p.stackPage(ctx, v, want)
		return err
	}); err != nil {
		p.client.Refuse(m, errStackTrace, "Unable to produce stack trace", err.Error())
		return
	}
	answer.Set("body", body)
	p.client.Send(answer)
}

// resolve gives the thread of control that a DAP thread ID stands for, and the
// ID by which Delve knows it: -1 is the selected goroutine, and so is 0 where the
// current thread has none. Delve knows a thread without a goroutine only while it
// is the current one; known is false for others.
func (v *view) resolve(id int64) (th delve.Thread, delveID int64, known bool, err error) {
	if r, ok := v.known[id]; ok && id > 0 {
		return r.thread, r.delveID, r.known, nil
	}
	th, delveID, known, err = v.find(id)
	if err == nil {
		v.known[id] = resolved{th, delveID, known}
	}
	return th, delveID, known, err
}

// resolved is a thread that was found. What is selected may change at a stop, so
// that -1 and 0 are found anew each time.
type resolved struct {
	thread  delve.Thread
	delveID int64
	known   bool
}

func (v *view) find(id int64) (th delve.Thread, delveID int64, known bool, err error) {
	if tid, ok := ownThread(id); ok {
		th, err = v.thread(tid)
		if err != nil || th.Goroutine != 0 {
			return th, int64(th.Goroutine), true, err
		}
		selected, err := v.session.Selected()
		return th, 0, err == nil && selected.Goroutine == 0 && selected.Thread == tid, err
	}
	if id <= 0 {
		th, err = v.current()
		return th, id, true, err
	}
	th, err = v.live.Goroutine(uint64(id))
	if !v.session.InLibrary() {
		return th, id, true, err
	}
	// Of goroutines in a library Delve knows at most the selected one.
	selected, failed := v.session.Selected()
	if failed != nil || selected.Goroutine != uint64(id) {
		return th, 0, false, err
	}
	if err != nil {
		th, err = v.current()
	}
	return th, id, true, err
}

// stackPage gives the rows that a request asks for, as the body of a response.
func (p *Proxy) stackPage(ctx context.Context, v *view, want page) ([]byte, error) {
	depth, annotate := p.config.get()
	start, last := max(want.StartFrame, 0), p.framesOf(want)
	th, delveID, known, err := v.resolve(want.ThreadID)
	if err != nil {
		return nil, err
	}
	a, err := p.assemble(ctx, v, th, last, known)
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
	if err := p.fetch(ctx, v, a, delveID, rows); err != nil {
		return nil, err
	}
	frames := make([]json.RawMessage, len(rows))
	for i := range rows {
		if frames[i], err = p.frame(v, a, delveID, &rows[i], annotate); err != nil {
			return nil, err
		}
	}
	return stackBody(frames, total), nil
}

// assembled is the stack of one thread of control at a stop.
type assembled struct {
	view   *view
	thread delve.Thread
	stack  unwind.Stack
	depth  int   // that it was assembled to
	claims bool  // all frames of Delve's that it could have were there
	ids    []int // own ID of each frame, 0 where it has none yet
	labels map[int]int
}

// holds says that the stack has so many frames, or is whole.
func (a *assembled) holds(frames int) bool {
	return !a.stack.DepthLimited || len(a.stack.Frames) > frames
}

// leastDepth is assembled even where less is asked for: editors ask for the
// first frame, and for some more at once.
const leastDepth = 32

// assemble gives a stack with at least so many frames, if it has them.
func (p *Proxy) assemble(ctx context.Context, v *view, th delve.Thread, frames int, delveKnows bool) (*assembled, error) {
	if err := p.prepare(ctx, v); err != nil {
		return nil, err
	}
	key := keyOf(th)
	a := v.stacks[key]
	if a != nil && a.holds(frames) && a.claims {
		return a, nil
	}
	depth := max(frames+1, leastDepth)
	a = &assembled{view: v, thread: th, depth: depth, claims: true, labels: make(map[int]int)}
	var note string
	th.Claims = nil
	// Delve counts inlined functions as frames: they come on top.
	for ask := min(depth+depth/2, firstWalk); ; ask *= 2 {
		claims, err := v.session.Claims(th, ask)
		if err != nil {
			note = "Delve's own frames are not known: " + err.Error()
			break
		}
		th.Claims = claims
		physical := 0
		for i := range claims {
			if !claims[i].Inlined {
				physical++
			}
		}
		if len(claims) < ask || physical >= depth || ask > maxRows {
			break
		}
	}
	a.stack = v.prepared.Stack(ctx, &th.Thread, assembler.Options{MaxFrames: depth})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // it may be truncated for that
	}
	p.notes.show(a.stack.Notes)
	if note != "" {
		a.stack.Notes = append(a.stack.Notes, note)
	}
	if !delveKnows {
		for i := range a.stack.Frames {
			a.stack.Frames[i].DelveFrame = -1 // its index is of no use: nobody can ask by it
		}
	}
	a.ids = make([]int, len(a.stack.Frames))
	if before := v.stacks[key]; before != nil {
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
