package dap

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/unwind"
)

type thread struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// onThreads adds the threads that run no goroutine, of which Delve's list has
// none: those that C made. Threads of Go's runtime are not listed, but for one
// that a stop has named.
func (p *Proxy) onThreads(ctx context.Context, m *dapwire.Message) {
	answer, err := p.up.ask(ctx, m)
	if err != nil {
		return
	}
	var body struct {
		Threads []json.RawMessage `json:"threads"`
	}
	if !answer.Success || answer.Decode("body", &body) != nil || dummy(body.Threads) {
		p.client.send(answer)
		return
	}
	added := 0
	err = p.own(ctx, m.Seq, func(_ context.Context, v *view) error {
		selected, err := v.session.Selected()
		if err != nil {
			return err
		}
		threads, err := v.live.Threads()
		if err != nil {
			return err
		}
		for _, th := range threads {
			current := selected.Goroutine == 0 && selected.Thread == th.ID
			if th.Goroutine != 0 || th.Runtime && p.alias.stopped.Load() != ownThreadID(th.ID) {
				continue
			}
			name := ""
			if pc, ok := th.Registers.PC(v.arch()); ok {
				name = " " + v.nameOf(unwind.Code(pc, th.FirstPC))
			}
			mark := ""
			if current {
				mark = "* "
			}
			raw, err := json.Marshal(thread{ownThreadID(th.ID), fmt.Sprintf("%s[Thread %d]%s", mark, th.ID, name)})
			if err != nil {
				return err
			}
			body.Threads = append(body.Threads, raw)
			added++
		}
		return nil
	})
	if err != nil || added == 0 {
		if err != nil {
			p.opts.Log("threads: %v", err)
		}
		p.client.send(answer)
		return
	}
	p.respond(m, body)
}

// dummy says that Delve knows of no goroutine, and names one to have any: before
// the runtime has started, after the program's end, and while it runs.
func dummy(threads []json.RawMessage) bool {
	if len(threads) != 1 {
		return false
	}
	var t thread
	return json.Unmarshal(threads[0], &t) == nil && (t == thread{1, "Dummy"} || t.ID < 0)
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
