package dap

import (
	"fmt"
	"sync"
	"time"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dapwire"
)

// progressID names the progress of a request, by its number.
const progressID = "clew-%d"

// Long work is shown at once where there is much to do, else when it takes longer
// than a moment; editors need not hear of each step.
const (
	muchWork      = 100 // stacks
	progressAfter = 500 * time.Millisecond
	progressEvery = 250 * time.Millisecond
)

// progress tells the client how far long work is, if it wants to know.
type progress struct {
	proxy   *Proxy
	request int64
	title   string
	what    string // is counted
	total   int
	started time.Time

	mu    sync.Mutex
	n     int
	shown time.Time // zero: not at all
	ended bool
}

// progressStart is [dap.ProgressStartEvent]. That leaves a percentage of 0 out, and
// without one editors show work whose end is not known.
type progressStart struct {
	dap.Event
	Body struct {
		dap.ProgressStartEventBody
		RequestId  int64 `json:"requestId"`
		Percentage int   `json:"percentage"`
	} `json:"body"`
}

// progressUpdate is [dap.ProgressUpdateEvent], with a percentage of 0 as well.
type progressUpdate struct {
	dap.Event
	Body struct {
		dap.ProgressUpdateEventBody
		Percentage int `json:"percentage"`
	} `json:"body"`
}

// progress is that of a request's work, which begins later.
func (p *Proxy) progress(m *dapwire.Message) *progress { return &progress{proxy: p, request: m.Seq} }

// begin says that so many steps begin. Work that was given up may come to that, too.
func (g *progress) begin(title, what string, total int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.title, g.what, g.total, g.started = title, what, total, time.Now()
	if total >= muchWork && !g.ended {
		g.show()
	}
}

// show shows the work to a client that wants to know. The lock is held.
func (g *progress) show() {
	if !g.proxy.caps.SupportsProgressReporting {
		return
	}
	g.shown = time.Now()
	e := progressStart{Event: dap.Event{Event: "progressStart"}}
	e.Body.ProgressId, e.Body.Title, e.Body.Cancellable, e.Body.Message = g.id(), g.title, true, g.message()
	e.Body.RequestId, e.Body.Percentage = g.request, g.percentage()
	g.proxy.event(&e)
}

// add counts a step. Work that was given up may go on counting.
func (g *progress) add() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n++
	now := time.Now()
	switch {
	case g.ended:
	case g.shown.IsZero() && now.Sub(g.started) >= progressAfter:
		g.show()
	case !g.shown.IsZero() && now.Sub(g.shown) >= progressEvery:
		g.shown = now
		e := progressUpdate{Event: dap.Event{Event: "progressUpdate"}}
		e.Body.ProgressId, e.Body.Message, e.Body.Percentage = g.id(), g.message(), g.percentage()
		g.proxy.event(&e)
	}
}

// end says that the work is done, or was given up.
func (g *progress) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	if !g.shown.IsZero() {
		g.proxy.event(&dap.ProgressEndEvent{
			Event: dap.Event{Event: "progressEnd"}, Body: dap.ProgressEndEventBody{ProgressId: g.id(), Message: g.message()},
		})
	}
}

func (g *progress) id() string { return fmt.Sprintf(progressID, g.request) }

func (g *progress) message() string { return fmt.Sprintf("%d of %d %s", g.n, g.total, g.what) }

func (g *progress) percentage() int { return 100 * g.n / max(g.total, 1) }
