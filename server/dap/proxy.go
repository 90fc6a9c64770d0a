package dap

import (
	"context"
	"io"
	"time"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/frames"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/session"
	"github.com/clewdbg/clew/server/stop"
)

// Options say what a proxy stands between, and with what it works.
type Options struct {
	// Client and Upstream are the two connections; the proxy closes both.
	Client, Upstream io.ReadWriteCloser
	// Session returns the process that the upstream debugs, nil where it is not to
	// be had here. It is called after each `initialized` event.
	Session func() *delve.Session
	// Share returns such a process for clients of other protocols, too, which may let it run; nil: there are none.
	Share func(*delve.Session, debuggee.Settings) debuggee.Local
	// Remote reaches the process that the upstream debugs, where that is a Delve
	// server; it is called instead of Session, after the first `initialized` event,
	// and may take its time. The target is closed if it is an [io.Closer].
	Remote func(context.Context) (debuggee.Target, stop.Program, error)
	// Strategies opens strategies: when the first stack is assembled, and for each
	// other list that a request names.
	Strategies debuggee.StrategySource
	// DebugFolders are where separate debug files are searched; nil means where
	// distributions put them.
	DebugFolders []string
	// Guard is told what to do if this process is killed; may be nil.
	Guard Guard
	// MaxMessage bounds a message, in bytes; 0 is [dapwire.DefaultMaxContent].
	MaxMessage int
	// Patience bounds what clew does for one request; after it, Delve's own answer
	// goes out. 0 is [stop.DefaultPatience].
	Patience time.Duration
	// Shared is the session that this client shares with others; nil: it has its own.
	Shared *session.Session
	// Multi returns the address of a server that goes on when a client leaves; "", as nil, for none. It is called when a
	// client attaches to the server's program, and may take its time.
	Multi func() string
	// Lost says that the upstream is another process, and what the client is told
	// when the connection to it ends. "" is for a session in this process.
	Lost string
	// Log takes messages for the debugging of clew itself; may be nil.
	Log func(format string, args ...any)
}

// Proxy is one session. It routes requests and events.
type Proxy struct {
	wire    *wire.Bridge
	state   debuggee.State
	config  debuggee.Config
	program *debuggee.Program
	frames  *frames.Handlers
	guard   programGuard
	steps   stepper
	sharing *sharing
	routes  map[string]handler
	admit   map[string]admission
}

// New makes a proxy; [Proxy.Run] runs it.
func New(opts Options) *Proxy {
	if opts.Patience <= 0 {
		opts.Patience = stop.DefaultPatience
	}
	if opts.MaxMessage <= 0 {
		opts.MaxMessage = dapwire.DefaultMaxContent
	}
	if opts.Log == nil {
		opts.Log = func(string, ...any) {}
	}
	if opts.Shared == nil {
		opts.Shared = session.New(session.Options{})
	}
	if opts.Multi == nil {
		opts.Multi = func() string { return "" }
	}
	sharing := &sharing{owner: opts.Shared, several: opts.Multi, alias: new(debuggee.ThreadAlias)}
	sharing.client = opts.Shared.Join("editor", sharing.told)
	p := &Proxy{
		config: debuggee.DefaultConfig(), sharing: sharing,
		wire: wire.NewBridge(wire.Options{
			Crowded: func() bool { return !sharing.client.Alone() },
			Client:  opts.Client, Upstream: opts.Upstream, MaxMessage: opts.MaxMessage, Lost: opts.Lost, Cancelled: stop.ErrCancelled, AnswerHead: internals.ResponseHead, Log: opts.Log,
		}),
	}
	p.program = debuggee.New(debuggee.Options{
		Wire: p.wire, State: &p.state, Config: &p.config, Session: opts.Session, Share: opts.Share, Remote: opts.Remote, Strategies: opts.Strategies, DebugFolders: opts.DebugFolders, Patience: opts.Patience,
	})
	p.guard = programGuard{guard: opts.Guard, log: opts.Log}
	p.routes = p.route(&opts)
	sharing.wire, sharing.state, sharing.config, sharing.program = p.wire, &p.state, &p.config, p.program
	p.admit = sharing.admissions()
	return p
}

// route makes the handlers of the requests that do not just pass.
func (p *Proxy) route(opts *Options) map[string]handler {
	alias := p.sharing.alias
	p.frames = frames.New(p.wire, p.program, alias)
	start := &initializer{wire: p.wire, client: p.sharing.client, here: opts.Session != nil}
	p.sharing.caps = &start.caps
	run := &running{up: p.wire.Up, state: &p.state, alias: alias, target: p.program.Target, tell: p.sharing.client.Tell}
	launch := &launcher{wire: p.wire, config: &p.config, run: run, guard: &p.guard, strategies: opts.Strategies, remote: opts.Remote != nil, startAhead: p.program.StartAhead}
	calls := &targets{wire: p.wire, program: p.program, frames: p.frames.IDs}
	p.steps = stepper{wire: p.wire, program: p.program, run: run, targets: calls}
	read := &memory{wire: p.wire, program: p.program, caps: &start.caps}
	vars := &variables{wire: p.wire, state: &p.state, frames: p.frames.IDs, config: &p.config, inserter: p.frames.Inserter, run: run, memory: read,
		globals: func() []string { return globalsFrom(p.program) },
		native:  &natives{wire: p.wire, program: p.program, ids: p.frames.IDs, inserter: p.frames.Inserter, wrote: run.wrote}}
	exports := &exporter{wire: p.wire, program: p.program, caps: &start.caps, maxMessage: opts.MaxMessage}
	images := &imageLister{wire: p.wire, program: p.program}
	plugins := &pluginLister{wire: p.wire, program: p.program}
	commands := &console{
		wire: p.wire, exports: exports, plugins: plugins, caps: &start.caps, state: &p.state, frames: p.frames.IDs, evaluate: vars.onEvaluate, complete: vars.complete,
	}
	routes := map[string]handler{
		"initialize":         start.onInitialize,
		"launch":             launch.onLaunch,
		"attach":             launch.onAttach,
		"restart":            launch.onRestart,
		"configurationDone":  run.onResume,
		"continue":           run.onResume,
		"reverseContinue":    run.onResume,
		"goto":               run.onResume,
		"restartFrame":       run.onResume,
		"next":               p.steps.onStep,
		"stepIn":             p.steps.onStep,
		"stepOut":            p.steps.onStep,
		"stepBack":           p.steps.onStep,
		"writeMemory":        run.onWrite,
		"threads":            p.frames.Threads.OnThreads,
		"exceptionInfo":      p.frames.Threads.OnExceptionInfo,
		"stackTrace":         p.frames.Stacks.OnStackTrace,
		"scopes":             p.frames.Scopes.OnScopes,
		"variables":          vars.onVariables,
		"setVariable":        vars.onSetVariable,
		"setExpression":      vars.onSetExpression,
		"dataBreakpointInfo": vars.onDataBreakpointInfo,
		"evaluate":           commands.onEvaluate,
		"completions":        commands.onCompletions,
		"clew/stack":         p.frames.Stacks.OnClewStack,
		"clew/places":        vars.native.onPlaces,
		"clew/export":        exports.onExport,
		"clew/images":        images.onImages,
		"modules":            images.onModules,
		"readMemory":         read.onReadMemory,
		"clew/plugins":       plugins.onPlugins,
		"clew/reunwind":      (&reunwinder{wire: p.wire, program: p.program}).onReunwind,
	}
	if opts.Session != nil {
		files := &sources{wire: p.wire, program: p.program}
		routes["stepInTargets"] = calls.onStepInTargets
		routes["disassemble"] = read.onDisassemble
		routes["loadedSources"], routes["breakpointLocations"] = files.onLoadedSources, files.onBreakpointLocations
	}
	return routes
}

// Run passes messages until one side closes its connection, and closes the
// other's.
func (p *Proxy) Run() {
	defer p.program.Close()
	p.wire.Run(p)
}

// Request handles a request of the client's; see [wire.Handler].
func (p *Proxy) Request(ctx context.Context, m *dapwire.Message) error {
	admit := p.admit[m.Command]
	if admit == nil {
		admit = p.sharing.whileStopped(p.sharing.client.Use)
	}
	return admit(ctx, m, func() error {
		if !listing[m.Command] {
			p.frames.Stacks.Changes()
		}
		if h := p.routes[m.Command]; h != nil {
			return h(ctx, m)
		}
		p.wire.Up.Forward(m, nil)
		return nil
	})
}

// listing are the requests that an editor makes at a stop before its user does anything: they change nothing.
var listing = map[string]bool{"threads": true, "stackTrace": true, "exceptionInfo": true, "source": true, "modules": true, "loadedSources": true}

// Cancel ends the work for a request.
func (p *Proxy) Cancel(request int64) bool { return p.program.Stops.Cancel(request) }

// Lost notes that the program cannot be reached any more.
func (p *Proxy) Lost() { p.state.Runs() }

// Failed ends a restart that Delve has taken, and that has failed. A run that Delve has begun, and that has failed by a panic, ends with a stop.
func (p *Proxy) Failed(m *dapwire.Message) *dapwire.Message {
	if m.Command == "restart" || m.Command == "" {
		p.sharing.endRestart(false)
	}
	return p.sharing.failed(m)
}

// Left is called when the client is gone.
func (p *Proxy) Left() { p.sharing.left() }

// Event reads an event of Delve's before the client gets it.
func (p *Proxy) Event(m *dapwire.Message) {
	switch m.Event {
	case "initialized":
		p.program.Attach()
		p.program.Warm()
		p.sharing.attached.Store(true)
		p.sharing.endRestart(true)
	case "stopped":
		p.steps.end()
		p.state.Stops()
		p.frames.Threads.NameStopped(m)
		p.sharing.stopped(m)
		p.frames.Stacks.PrefetchStopped(m)
		p.program.Settle()
	case "continued":
		p.state.Runs()
		p.frames.Threads.NameContinued(m)
	case "terminated", "exited":
		p.steps.end()
		p.state.Runs()
		p.sharing.exited(m)
	}
}
