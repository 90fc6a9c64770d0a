package frames

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/unwind"
)

// threadsBody is [dap.ThreadsResponseBody] with Delve's threads, whose bytes stay.
type threadsBody struct {
	Threads []json.RawMessage `json:"threads"`
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
func (ts *Threads) OnThreads(ctx context.Context, m *dapwire.Message) error {
	answer, err := ts.wire.Up.Ask(ctx, m)
	if err != nil {
		return nil // both connections end
	}
	var body threadsBody
	if !answer.Success || answer.Decode("body", &body) != nil {
		ts.wire.Client.Send(answer)
		return nil
	}
	none := noGoroutines(body.Threads)
	var added []dap.Thread
	err = ts.program.AtStop(ctx, m.Seq, func(_ context.Context, v *debuggee.View) (err error) {
		added, err = listing{v, ts.program.Config.Get().Names}.unlisted(none, ts.alias.Stopped.Load())
		return err
	})
	if err != nil && !none {
		ts.wire.Log("threads: %v", err)
	}
	if err != nil || len(added) == 0 {
		ts.wire.Client.Send(answer)
		return nil
	}
	if none {
		body.Threads = nil
	}
	body.Threads = slices.Concat(body.Threads, rawOf(added))
	ts.wire.Client.Respond(m, body)
	return nil
}

// rawOf encodes values of go-dap's types, of which none fails.
func rawOf[T any](list []T) (out []json.RawMessage) {
	for _, v := range list {
		if raw, err := json.Marshal(v); err == nil {
			out = append(out, raw)
		}
	}
	return out
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
		t := dap.Thread{Id: int(debuggee.ThreadID(th.ID)), Name: fmt.Sprintf("[Thread %d]%s", th.ID, v.functionOf(&th))}
		if selected.Thread == th.ID && (selected.Goroutine == 0 || none) {
			markSelected(&t, selected)
		}
		out = append(out, t)
	}
	return out, nil
}

// markSelected marks a thread as the selected one. It has the ID of the goroutine that
// Delve takes it for, if it does.
func markSelected(t *dap.Thread, s reading.Selection) {
	t.Name = "* " + t.Name
	if s.Goroutine != 0 {
		t.Id = int(s.Goroutine)
	}
}

// goroutines lists those that Delve knows nothing of. The one that is selected has the
// ID by which Delve goes on with it.
func (v listing) goroutines(selected reading.Selection) (out []dap.Thread) {
	all, err := v.Goroutines()
	if err != nil {
		return nil // there is no runtime yet
	}
	for _, g := range all {
		t := dap.Thread{Id: int(g.Goroutine), Name: fmt.Sprintf("[Go %d]%s", g.Goroutine, v.functionOf(&g))}
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

// functionOf names the function that a thread is in, after a space; "" if it has
// no program counter.
func (v listing) functionOf(th *reading.Thread) string {
	pc, ok := th.Registers.PC(v.Arch())
	if !ok {
		return ""
	}
	f := v.Frame(unwind.Code(pc, th.FirstPC))
	return " " + frameName(&f, v.names)
}

// noGoroutines reports whether Delve knows no goroutine. It lists one that does not exist
// then: before the runtime has started, after the program's end, and while it runs.
func noGoroutines(threads []json.RawMessage) bool {
	if len(threads) != 1 {
		return false
	}
	var t dap.Thread
	return json.Unmarshal(threads[0], &t) == nil && (t == dap.Thread{Id: internals.DummyThreadID, Name: internals.DummyThread} || t.Id < 0)
}
