package wire

import (
	"fmt"
	"sync"
	"time"

	"github.com/google/go-dap"
)

// progressID names the progress of a request, by its number.
const progressID = "clew-%d"

// Long work is shown at once where there is much to do, else when it takes some time;
// an editor is not told of each step.
const (
	muchWork      = 100 // stacks
	progressAfter = 500 * time.Millisecond
	progressEvery = 250 * time.Millisecond
)

// Progress tells the client how far long work is.
type Progress struct {
	client  *Client
	request int64
	wanted  bool
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

// NewProgress is that of the work for a request, which begins later. Wanted says that
// the client shows progress.
func NewProgress(client *Client, request int64, wanted bool) *Progress {
	return &Progress{client: client, request: request, wanted: wanted}
}

// Begin says that so many steps begin. Work that was abandoned may call it, too.
func (g *Progress) Begin(title, what string, total int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.title, g.what, g.total, g.started = title, what, total, time.Now()
	if total >= muchWork && !g.ended {
		g.show()
	}
}

// show shows the work to a client that wants to know. The lock is held.
func (g *Progress) show() {
	if !g.wanted {
		return
	}
	g.shown = time.Now()
	e := progressStart{Event: dap.Event{Event: "progressStart"}}
	e.Body.ProgressId, e.Body.Title, e.Body.Cancellable, e.Body.Message = g.id(), g.title, true, g.message()
	e.Body.RequestId, e.Body.Percentage = g.request, g.percentage()
	g.client.Event(&e)
}

// Add counts a step. Work that was abandoned may go on counting.
func (g *Progress) Add() {
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
		g.client.Event(&e)
	}
}

// End says that the work is done, or was abandoned.
func (g *Progress) End() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	if !g.shown.IsZero() {
		g.client.Event(&dap.ProgressEndEvent{
			Event: dap.Event{Event: "progressEnd"}, Body: dap.ProgressEndEventBody{ProgressId: g.id(), Message: g.message()},
		})
	}
}

func (g *Progress) id() string { return fmt.Sprintf(progressID, g.request) }

func (g *Progress) message() string { return fmt.Sprintf("%d of %d %s", g.n, g.total, g.what) }

func (g *Progress) percentage() int { return 100 * g.n / max(g.total, 1) }
