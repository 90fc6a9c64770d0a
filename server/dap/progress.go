package dap

import (
	"fmt"
	"sync"
	"time"

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
	g.proxy.event("progressStart", map[string]any{
		"progressId": g.id(), "title": g.title, "requestId": g.request, "cancellable": true, "message": g.message(), "percentage": g.percentage(),
	})
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
		g.proxy.event("progressUpdate", map[string]any{"progressId": g.id(), "message": g.message(), "percentage": g.percentage()})
	}
}

// end says that the work is done, or was given up.
func (g *progress) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	if !g.shown.IsZero() {
		g.proxy.event("progressEnd", map[string]any{"progressId": g.id(), "message": g.message()})
	}
}

func (g *progress) id() string { return fmt.Sprintf(progressID, g.request) }

func (g *progress) message() string { return fmt.Sprintf("%d of %d %s", g.n, g.total, g.what) }

func (g *progress) percentage() int { return 100 * g.n / max(g.total, 1) }
