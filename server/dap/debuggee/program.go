package debuggee

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/clewdbg/clew/server/corefile"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/stop"
)

// Options say how the program is reached, and with what its stacks are unwound.
type Options struct {
	Wire   *wire.Bridge
	State  *State
	Config *Config
	// Session, Share, Remote, Strategies and DebugFolders: see dap.Options.
	Session      func() *delve.Session
	Share        func(*delve.Session, Settings) Local
	Remote       func(context.Context) (Target, stop.Program, error)
	Strategies   StrategySource
	DebugFolders []string
	Patience     time.Duration
}

// Program is the program that is debugged, and what of it stays from stop to stop.
type Program struct {
	Options
	Stops *stop.Stops

	settle sync.Once

	mu     sync.Mutex
	core   *corefile.File // nil for a process
	closed bool

	// The rest belongs to the work that is being done: opened are sets of strategies,
	// by their names: the configured one, and others that were asked for.
	opened map[string]*Opened
	view   *View
}

// New returns a program that is not reached yet; see [Program.Attach].
func New(o Options) *Program {
	return &Program{Options: o, Stops: stop.New(stop.Options{
		Now: func() (stop.Moment, error) {
			at, stopped := o.State.At()
			if !stopped {
				return at, stop.ErrRunning
			}
			return at, nil
		},
		Moved: o.State.moves, Patience: o.Patience, Log: o.Wire.Log,
	})}
}

// Target is what the upstream debugs now, nil for nothing.
func (l *Program) Target() Target {
	t, _ := l.Stops.Debugger().(Target)
	return t
}

// Close ends the strategies and closes files. Work that was given up may still use
// them; it fails then.
func (l *Program) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.opened {
		o.close()
	}
	if l.core != nil {
		_ = l.core.Close() // it was only read
	}
	l.closed = true
	if c, ok := l.Stops.Debugger().(io.Closer); ok && l.Remote != nil {
		_ = c.Close()
	}
}

// AtStop does work at the present stop, in bounded time; see [stop.Stops.Do]. An
// error says that Delve's own answer has to suffice.
func (l *Program) AtStop(ctx context.Context, request int64, work func(context.Context, *View) error) error {
	return l.Stops.Do(ctx, request, func(ctx context.Context, at *stop.Stopped) error { return work(ctx, l.viewOf(at)) })
}

func (l *Program) viewOf(at *stop.Stopped) *View {
	if l.view == nil || l.view.Stopped != at {
		target, _ := at.Debugger.(Target)
		l.view = &View{Stopped: at, Target: target, known: make(map[int64]resolved)}
	}
	return l.view
}
