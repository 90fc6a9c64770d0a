package serve

import (
	"errors"
	"sync"

	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/lifeline"
)

// guard is a life-line that is started when it is first needed: sessions that
// launch nothing have none.
type guard struct {
	start func() (*lifeline.Line, error)

	mu       sync.Mutex
	line     *lifeline.Line
	err      error
	launched string // the program, "" if none was
}

var errNoGuard = errors.New("none")

func (g *guard) use(f func(*lifeline.Line) error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.line == nil && g.err == nil {
		if g.line, g.err = g.start(); g.err == nil && g.line == nil {
			g.err = errNoGuard
		}
	}
	if g.err != nil {
		return g.err
	}
	return f(g.line)
}

// launch announces a program that Delve is about to start.
func (g *guard) launch(path string) {
	g.mu.Lock()
	g.launched = path
	g.mu.Unlock()
	if err := g.Restart(); err != nil {
		delve.LogDAP("guard: %v", err)
	}
}

// Restart announces the same program once more.
func (g *guard) Restart() error {
	g.mu.Lock()
	path := g.launched
	g.mu.Unlock()
	if path == "" {
		return nil
	}
	return g.use(func(l *lifeline.Line) error { return l.Launch(path) })
}

func (g *guard) Attach(pid int) error {
	return g.use(func(l *lifeline.Line) error { return l.Attach(pid) })
}

func (g *guard) Kill(pid int) error {
	return g.use(func(l *lifeline.Line) error { return l.Kill(pid) })
}

func (g *guard) Continue(pid int, patches []lifeline.Patch) error {
	return g.use(func(l *lifeline.Line) error { return l.Continue(pid, patches) })
}

// release spares the program, and ends the guard.
func (g *guard) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.line != nil {
		g.line.Release()
		g.line, g.err = nil, errNoGuard
	}
}
