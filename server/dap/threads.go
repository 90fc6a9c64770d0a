package dap

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/unwind"
)

type thread struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// onThreads adds the threads that run no goroutine, of which Delve's list has
// none: those that C made. Threads of Go's runtime are not listed, but for one
// that a stop has named. Where Go came with a library, Delve may know no goroutine
// at all: then they are listed here too.
func (p *Proxy) onThreads(ctx context.Context, m *dapwire.Message) {
	answer, err := p.up.ask(ctx, m)
	if err != nil {
		return
	}
	var body struct {
		Threads []json.RawMessage `json:"threads"`
	}
	if !answer.Success || answer.Decode("body", &body) != nil {
		p.client.send(answer)
		return
	}
	none := dummy(body.Threads)
	var added []thread
	err = p.own(ctx, m.Seq, func(_ context.Context, v *view) error {
		selected, err := v.session.Selected()
		if err != nil {
			return err
		}
		if none {
			if added = v.goroutines(selected); len(added) == 0 && p.alias.stopped.Load() == 0 && selected.Goroutine == 0 {
				return nil
			}
		}
		threads, err := v.live.Threads()
		if err != nil {
			return err
		}
		for _, th := range threads {
			if th.Goroutine != 0 || th.Runtime && p.alias.stopped.Load() != ownThreadID(th.ID) {
				continue
			}
			t := thread{ownThreadID(th.ID), fmt.Sprintf("[Thread %d]%s", th.ID, v.standsIn(&th))}
			if selected.Thread == th.ID && (selected.Goroutine == 0 || none) {
				t.Name = "* " + t.Name
				if selected.Goroutine != 0 { // as Delve takes it for one
					t.ID = int64(selected.Goroutine)
				}
			}
			added = append(added, t)
		}
		return nil
	})
	if err != nil || len(added) == 0 {
		if err != nil && !none {
			p.opts.Log("threads: %v", err)
		}
		p.client.send(answer)
		return
	}
	if none {
		body.Threads = nil
	}
	for _, t := range added {
		raw, err := json.Marshal(t)
		if err != nil {
			p.client.send(answer)
			return
		}
		body.Threads = append(body.Threads, raw)
	}
	p.respond(m, body)
}

// goroutines lists those that Delve knows nothing of. The one that is selected has the
// ID by which Delve goes on with it.
func (v *view) goroutines(selected delve.Selection) (out []thread) {
	all, err := v.live.Goroutines()
	if err != nil {
		return nil // there is no runtime yet
	}
	for _, g := range all {
		t := thread{int64(g.Goroutine), fmt.Sprintf("[Go %d]%s", g.Goroutine, v.standsIn(&g))}
		if g.ID != 0 {
			t.Name += fmt.Sprintf(" (Thread %d)", g.ID)
		}
		if g.ID != 0 && g.ID == selected.Thread {
			t.Name = "* " + t.Name
			if t.ID = int64(selected.Goroutine); t.ID == 0 {
				t.ID = ownThreadID(g.ID)
			}
		}
		out = append(out, t)
	}
	return out
}

// standsIn names the function that a thread stands in, after a space; "" if it has
// no program counter.
func (v *view) standsIn(th *delve.Thread) string {
	pc, ok := th.Registers.PC(v.arch())
	if !ok {
		return ""
	}
	return " " + v.nameOf(unwind.Code(pc, th.FirstPC))
}

// dummy says that Delve knows of no goroutine, and names one to have any: before
// the runtime has started, after the program's end, and while it runs.
func dummy(threads []json.RawMessage) bool {
	if len(threads) != 1 {
		return false
	}
	var t thread
	return json.Unmarshal(threads[0], &t) == nil && (t == thread{internals.DummyThreadID, internals.DummyThread} || t.ID < 0)
}

// nameOf names the function at a code address.
func (v *view) nameOf(pc unwind.CodeAddr) string {
	stack := unwind.Stack{Frames: []unwind.Frame{{PC: pc, DelveFrame: -1}}}
	if names := v.live.Input.Names; names != nil {
		names.Name(&stack)
	}
	return frameName(&stack.Frames[0])
}

// onExceptionInfo refuses what Delve has of goroutines only: their panics and
// fatal errors. Its own refusal would name a goroutine that there is not.
func (p *Proxy) onExceptionInfo(ctx context.Context, m *dapwire.Message) {
	tid, ok := ownThread(threadOf(m))
	switch {
	case !ok:
		p.pass(m, nil)
	case p.settle(ctx, m):
		p.refuse(m, errException, "Unable to get exception info", fmt.Sprintf("thread %d runs no goroutine: nothing is known of an exception", tid))
	}
}
