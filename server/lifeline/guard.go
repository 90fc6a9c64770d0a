package lifeline

import (
	"errors"
	"os"
	"sync"
)

// Guard is a life-line that is started when it is first needed: a session that
// launches nothing and attaches to nothing has none. A nil Guard guards nothing.
type Guard struct {
	start func(client *os.File) (*Line, error)

	mu       sync.Mutex
	client   *os.File // nil once the guard has it
	line     *Line
	err      error
	launched string // the program, "" if none was
}

// NewGuard returns a guard that is started by start ([Start]), which may be nil: it then guards nothing. client, which may be nil, is a
// duplicate of the session's connection to its client, and the guard's from now on.
func NewGuard(start func(client *os.File) (*Line, error), client *os.File) *Guard {
	if start == nil {
		_ = client.Close()
		return nil
	}
	return &Guard{start: start, client: client}
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
		g.line, g.err = g.start(g.client)
		g.forgetClient()
		if g.err == nil && g.line == nil {
			g.err = ErrReleased
		}
	}
	if g.err != nil {
		return g.err
	}
	return f(g.line)
}

func (g *Guard) forgetClient() {
	_ = g.client.Close() // nil has nothing to close
	g.client = nil
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

// Reads is [Line.Reads].
func (g *Guard) Reads(path string) error { return g.use(func(l *Line) error { return l.Reads(path) }) }

// Say is [Line.Say].
func (g *Guard) Say(text string) error { return g.use(func(l *Line) error { return l.Say(text) }) }

// Spare is [Line.Spare].
func (g *Guard) Spare(pid int) error { return g.use(func(l *Line) error { return l.Spare(pid) }) }

// Release spares every process, and ends the guard.
func (g *Guard) Release() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forgetClient()
	if g.line != nil {
		g.line.Release()
		g.line, g.err = nil, ErrReleased
	}
}
