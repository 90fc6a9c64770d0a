package frames

import (
	"context"
	"strconv"
	"time"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/stop"
)

// NameStopped returns a stop its thread where Delve has none to name: a
// thread without a goroutine. A pause that finds an idle thread of Go's runtime
// stays without: it is about no thread.
func (ts *Threads) NameStopped(m *dapwire.Message) {
	ts.alias.Stopped.Store(0)
	raw, _ := m.Get("body")
	body, err := dapwire.ParseObject(raw)
	if err != nil {
		return
	}
	if id, ok := body.Int("threadId"); ok && id != 0 {
		return
	}
	s, ok := ts.selected()
	if !ok || s.Goroutine != 0 || s.Thread == 0 || s.Runtime && body.Text("reason") == "pause" {
		return
	}
	id := debuggee.ThreadID(s.Thread)
	ts.alias.Stopped.Store(id)
	body.Set("threadId", strconv.AppendInt(nil, id, 10))
	m.Set("body", body.Bytes())
}

// selectedPatience bounds the search for the current thread: events wait for it. A
// client that lets the program run again before it knew of the stop can make it
// wait.
const selectedPatience = 2 * time.Second

// selected returns the thread that the program has stopped in.
func (ts *Threads) selected() (reading.Selection, bool) {
	type found struct {
		selection reading.Selection
		err       error
	}
	result := make(chan found, 1)
	ctx, cancel := context.WithTimeout(ts.wire.Context(), selectedPatience)
	defer cancel()
	go func() {
		err := ts.program.Stops.Reached(ctx)
		s := ts.program.Target()
		if err != nil || s == nil {
			result <- found{err: stop.ErrNoProgram}
			return
		}
		selection, err := s.Selected()
		result <- found{selection, err}
	}()
	select {
	case f := <-result:
		return f.selection, f.err == nil
	case <-ctx.Done():
		return reading.Selection{}, false
	}
}

// NameContinued names the thread for which Delve was told 0.
func (ts *Threads) NameContinued(m *dapwire.Message) {
	id := ts.alias.ID.Load()
	raw, _ := m.Get("body")
	body, err := dapwire.ParseObject(raw)
	if err != nil || id == 0 {
		return
	}
	if n, ok := body.Int("threadId"); ok && n == 0 {
		body.Set("threadId", strconv.AppendInt(nil, id, 10))
		m.Set("body", body.Bytes())
	}
}
