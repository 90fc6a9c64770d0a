package dap

import (
	"context"
	"io"
	"sync"

	"github.com/clewdbg/clew/server/corefile"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/server/stop"
)

// program is the program that is debugged, and what of it stays from stop to stop.
type program struct {
	stops      *stop.Stops
	config     *config
	client     *wire.Client
	strategies StrategySource // may be nil

	mu     sync.Mutex
	core   *corefile.File // nil for a process
	closed bool

	// The rest belongs to the work that is being done: opened are sets of strategies,
	// by their names: the configured one, and others that were asked for.
	opened map[string]*opened
	view   *view
}

// view is the program at one stop, as the client is shown it.
type view struct {
	*stop.Stopped
	target   Target
	prepared *engine.Prepared // with the configured strategies; nil until they are needed
	stacks   map[stop.Key]*assembled
	goStacks map[stop.Key]*goStack
	delve    map[int64]map[int]delveFrame // by Delve's thread ID and frame index
	known    map[int64]resolved           // threads, by DAP thread ID
}

// newStops makes the stops that the session works at.
func (p *Proxy) newStops() *stop.Stops {
	return stop.New(stop.Options{
		Now: func() (stop.Moment, error) {
			at, stopped := p.state.at()
			if !stopped {
				return at, stop.ErrRunning
			}
			return at, nil
		},
		Moved: p.state.moves, Patience: p.opts.Patience, Log: p.opts.Log,
	})
}

// attach takes the process that Delve has now, or the core file.
func (p *Proxy) attach() {
	if p.opts.Remote != nil {
		p.reachRemote()
		return
	}
	var s *delve.Session
	if p.opts.Session != nil {
		s = p.opts.Session()
	}
	if s == nil {
		p.program.stops.Watch(nil, nil)
		return
	}
	var process *live.Process
	if s.Live() {
		process = live.NewProcess(s)
	} else if file, executable := p.openCore(); file != nil {
		process = live.NewCore(s, file, executable)
	} else {
		p.program.stops.Watch(s, nil) // a recording
		return
	}
	process.FindDebugFiles(p.opts.DebugFolders)
	p.program.stops.Watch(s, process)
}

// openCore opens the session's core file, nil if there is none. One session has
// one, and cannot restart it.
func (p *Proxy) openCore() (file *corefile.File, executable string) {
	core, executable := p.config.coreFile()
	l := &p.program
	l.mu.Lock()
	defer l.mu.Unlock()
	if core == "" || l.core != nil {
		return nil, ""
	}
	file, err := corefile.Open(core)
	if err != nil {
		p.opts.Log("core file: %v", err)
		return nil, ""
	}
	l.core = file
	return file, executable
}

// target is what the upstream debugs now, nil for nothing.
func (l *program) target() Target {
	t, _ := l.stops.Debugger().(Target)
	return t
}

// close ends the strategies and closes files. Work that was given up may still use
// them; it fails then.
func (l *program) close(remote bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.opened {
		o.close()
	}
	if l.core != nil {
		_ = l.core.Close() // it was only read
	}
	l.closed = true
	if c, ok := l.stops.Debugger().(io.Closer); ok && remote {
		_ = c.Close()
	}
}

// atStop does work at the present stop, in bounded time; see [stop.Stops.Do]. An
// error says that Delve's own answer has to suffice.
func (l *program) atStop(ctx context.Context, request int64, work func(context.Context, *view) error) error {
	return l.atStopPaced(ctx, request, func(ctx context.Context, v *view, _ func()) error { return work(ctx, v) })
}

// atStopPaced is atStop for work of many steps; see [stop.Stops.DoPaced].
func (l *program) atStopPaced(ctx context.Context, request int64, work func(ctx context.Context, v *view, pace func()) error) error {
	return l.stops.DoPaced(ctx, request, func(ctx context.Context, at *stop.Stopped, pace func()) error {
		return work(ctx, l.viewOf(at), pace)
	})
}

func (l *program) viewOf(at *stop.Stopped) *view {
	if l.view == nil || l.view.Stopped != at {
		target, _ := at.Debugger.(Target)
		l.view = &view{
			Stopped: at, target: target, stacks: make(map[stop.Key]*assembled), goStacks: make(map[stop.Key]*goStack),
			delve: make(map[int64]map[int]delveFrame), known: make(map[int64]resolved),
		}
	}
	return l.view
}
