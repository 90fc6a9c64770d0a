package frames

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/unwind"
)

// threadsResponse is [dap.ThreadsResponse] with Delve's threads, whose bytes stay.
type threadsResponse struct {
	dap.Response
	Body struct {
		Threads []json.RawMessage `json:"threads"`
	} `json:"body"`
}

// Threads handles what is about threads.
type Threads struct {
	session
	alias *debuggee.ThreadAlias
}

// OnThreads adds the threads that run no goroutine, of which Delve's list has
// none: those that C made. Threads of Go's runtime are not listed, but for one
// that a stop has named. Where Go came with a library, Delve may know no goroutine
// at all: then they are listed here too.
func (ts *Threads) OnThreads(ctx context.Context, m *dapwire.Message) {
	answer, err := ts.wire.Up.Ask(ctx, m)
	if err != nil {
		return
	}
	var out threadsResponse
	body := &out.Body
	if !answer.Success || answer.Decode("body", body) != nil {
		ts.wire.Client.Send(answer)
		return
	}
	none := dummy(body.Threads)
	var added []dap.Thread
	err = ts.program.AtStop(ctx, m.Seq, func(_ context.Context, v *debuggee.View) (err error) {
		added, err = listing{v, ts.program.Config.Get().Names}.unlisted(none, ts.alias.Stopped.Load())
		return err
	})
	if err != nil || len(added) == 0 {
		if err != nil && !none {
			ts.wire.Log("threads: %v", err)
		}
		ts.wire.Client.Send(answer)
		return
	}
	if none {
		body.Threads = nil
	}
	for _, t := range added {
		raw, err := json.Marshal(t)
		if err != nil {
			ts.wire.Client.Send(answer)
			return
		}
		body.Threads = append(body.Threads, raw)
	}
	ts.wire.Client.Respond(m, &out)
}

// listing lists the threads of a stop.
type listing struct {
	*debuggee.View
	names names.Style
}

// unlisted are the threads that Delve does not list; with none set it lists no
// goroutine either. named is the thread that the stop has named, 0 for none.
func (v listing) unlisted(none bool, named int64) (out []dap.Thread, err error) {
	selected, err := v.Target.Selected()
	if err != nil {
		return nil, err
	}
	if none {
		if out = v.goroutines(selected); len(out) == 0 && named == 0 && selected.Goroutine == 0 {
			return nil, nil
		}
	}
	threads, err := v.Threads()
	if err != nil {
		return nil, err
	}
	for _, th := range threads {
		if th.Goroutine != 0 || th.Runtime && named != debuggee.ThreadID(th.ID) {
			continue
		}
		t := dap.Thread{Id: int(debuggee.ThreadID(th.ID)), Name: fmt.Sprintf("[Thread %d]%s", th.ID, v.standsIn(&th))}
		if selected.Thread == th.ID && (selected.Goroutine == 0 || none) {
			markSelected(&t, selected)
		}
		out = append(out, t)
	}
	return out, nil
}

// markSelected marks a thread as the selected one. It has the ID of the goroutine that
// Delve takes it for, if it does.
func markSelected(t *dap.Thread, s delve.Selection) {
	t.Name = "* " + t.Name
	if s.Goroutine != 0 {
		t.Id = int(s.Goroutine)
	}
}

// goroutines lists those that Delve knows nothing of. The one that is selected has the
// ID by which Delve goes on with it.
func (v listing) goroutines(selected delve.Selection) (out []dap.Thread) {
	all, err := v.Goroutines()
	if err != nil {
		return nil // there is no runtime yet
	}
	for _, g := range all {
		t := dap.Thread{Id: int(g.Goroutine), Name: fmt.Sprintf("[Go %d]%s", g.Goroutine, v.standsIn(&g))}
		if g.ID != 0 {
			t.Name += fmt.Sprintf(" (Thread %d)", g.ID)
		}
		if g.ID != 0 && g.ID == selected.Thread {
			t.Name = "* " + t.Name
			if t.Id = int(selected.Goroutine); t.Id == 0 {
				t.Id = int(debuggee.ThreadID(g.ID))
			}
		}
		out = append(out, t)
	}
	return out
}

// standsIn names the function that a thread stands in, after a space; "" if it has
// no program counter.
func (v listing) standsIn(th *delve.Thread) string {
	pc, ok := th.Registers.PC(v.Arch())
	if !ok {
		return ""
	}
	f := v.Frame(unwind.Code(pc, th.FirstPC))
	return " " + frameName(&f, v.names)
}

// dummy says that Delve knows of no goroutine, and names one to have any: before
// the runtime has started, after the program's end, and while it runs.
func dummy(threads []json.RawMessage) bool {
	if len(threads) != 1 {
		return false
	}
	var t dap.Thread
	return json.Unmarshal(threads[0], &t) == nil && (t == dap.Thread{Id: internals.DummyThreadID, Name: internals.DummyThread} || t.Id < 0)
}

// OnExceptionInfo refuses what Delve has of goroutines only: their panics and
// fatal errors. Its own refusal would name a goroutine that there is not.
func (ts *Threads) OnExceptionInfo(ctx context.Context, m *dapwire.Message) {
	tid, ok := debuggee.ThreadOf(debuggee.RequestedThread(m))
	switch {
	case !ok:
		ts.wire.Up.Forward(m, nil)
	case ts.wire.Settle(ctx, m):
		ts.wire.Client.Refuse(m, wire.ExceptionInfoFailed, "Unable to get exception info", fmt.Sprintf("thread %d runs no goroutine: nothing is known of an exception", tid))
	}
}
