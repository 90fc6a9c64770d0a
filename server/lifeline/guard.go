package lifeline

import (
	"errors"
	"sync"
)

// Guard is a life-line that is started when it is first needed: a session that
// launches nothing and attaches to nothing has none. A nil Guard guards nothing.
type Guard struct {
	start func() (*Line, error)

	mu       sync.Mutex
	line     *Line
	err      error
	launched string // the program, "" if none was
}

// NewGuard returns a guard that is started by start, which may be nil: it then guards nothing.
func NewGuard(start func() (*Line, error)) *Guard {
	if start == nil {
		return nil
	}
	return &Guard{start: start}
}

// ErrReleased says that the guard has ended, or that there is none.
var ErrReleased = errors.New("no guard")

func (g *Guard) use(f func(*Line) error) error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.line == nil && g.err == nil {
		if g.line, g.err = g.start(); g.err == nil && g.line == nil {
			g.err = ErrReleased
		}
	}
	if g.err != nil {
		return g.err
	}
	return f(g.line)
}

// Launch announces a program that is about to be started: see [Line.Launch].
func (g *Guard) Launch(path string) error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	g.launched = path
	g.mu.Unlock()
	return g.Restart()
}

// Restart announces the same program once more.
func (g *Guard) Restart() error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	path := g.launched
	g.mu.Unlock()
	if path == "" {
		return nil
	}
	return g.use(func(l *Line) error { return l.Launch(path) })
}

// Attach is [Line.Attach].
func (g *Guard) Attach(pid int) error { return g.use(func(l *Line) error { return l.Attach(pid) }) }

// Kill is [Line.Kill].
func (g *Guard) Kill(pid int) error { return g.use(func(l *Line) error { return l.Kill(pid) }) }

// Patch is [Line.Patch].
func (g *Guard) Patch(pid int, patches ...Patch) error {
	return g.use(func(l *Line) error { return l.Patch(pid, patches...) })
}

// Forget is [Line.Forget].
func (g *Guard) Forget(pid int, addr uint64) error {
	return g.use(func(l *Line) error { return l.Forget(pid, addr) })
}

// Continue is [Line.Continue].
func (g *Guard) Continue(pid int) error {
	return g.use(func(l *Line) error { return l.Continue(pid) })
}

// Spare is [Line.Spare].
func (g *Guard) Spare(pid int) error { return g.use(func(l *Line) error { return l.Spare(pid) }) }

// Release spares every process, and ends the guard.
func (g *Guard) Release() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.line != nil {
		g.line.Release()
		g.line, g.err = nil, ErrReleased
	}
}
