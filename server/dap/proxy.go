package dap

import (
	"context"
	"io"
	"time"

	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/stop"
)

// Options say what a proxy stands between, and with what it works.
type Options struct {
	// Client and Upstream are the two connections; the proxy closes both.
	Client, Upstream io.ReadWriteCloser
	// Session returns the process that the upstream debugs, nil where it is not to
	// be had here. It is called after each `initialized` event.
	Session func() *delve.Session
	// Remote reaches the process that the upstream debugs, where that is a Delve
	// server; it is called instead of Session, after the first `initialized` event,
	// and may take its time. The target is closed if it is an [io.Closer].
	Remote func(context.Context) (Target, stop.Program, error)
	// Strategies opens strategies: when the first stack is assembled, and for each
	// other list that a request names.
	Strategies StrategySource
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
	// Lost says that the upstream is another process, and what the client is told
	// when the connection to it ends. "" is for a session in this process.
	Lost string
	// Log takes messages for the debugging of clew itself; may be nil.
	Log func(format string, args ...any)
}

// Proxy is one session. It routes requests and events.
type Proxy struct {
	opts    Options
	wire    *wire.Bridge
	up      *wire.Link
	client  *wire.Client
	state   state
	config  config
	program program
	frames  frames
	alias   threadAlias
	notes   notes
	guard   programGuard
	steps   stepper
	routes  map[string]handler
}

// handler handles one request.
type handler func(context.Context, *dapwire.Message)

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
	p := &Proxy{
		opts: opts, config: defaultConfig(),
		wire: wire.NewBridge(wire.Options{
			Client: opts.Client, Upstream: opts.Upstream, MaxMessage: opts.MaxMessage, Lost: opts.Lost, Cancelled: stop.ErrCancelled, AnswerHead: internals.ResponseHead, Log: opts.Log,
		}),
	}
	p.up, p.client = p.wire.Up, p.wire.Client
	p.program = program{stops: p.newStops(), config: &p.config, client: p.client, strategies: opts.Strategies}
	p.notes.client = p.client
	p.guard = programGuard{guard: opts.Guard, target: p.program.target, state: &p.state, log: opts.Log}
	p.routes = p.route()
	return p
}

// route makes the handlers of the requests that do not just pass.
func (p *Proxy) route() map[string]handler {
	start := &initializer{wire: p.wire}
	run := &running{up: p.up, state: &p.state, alias: &p.alias, guard: &p.guard, target: p.program.target}
	launch := &launcher{wire: p.wire, config: &p.config, run: run, guard: &p.guard, strategies: p.opts.Strategies, remote: p.opts.Remote != nil}
	p.steps = stepper{wire: p.wire, program: &p.program, run: run}
	vars := &variables{wire: p.wire, state: &p.state, frames: &p.frames, config: &p.config, lender: p, run: run}
	exports := &exporter{wire: p.wire, program: &p.program, config: &p.config, caps: &start.caps, maxMessage: p.opts.MaxMessage}
	plugins := &pluginLister{wire: p.wire, program: &p.program, config: &p.config}
	commands := &console{
		wire: p.wire, exports: exports, plugins: plugins, caps: &start.caps, state: &p.state, frames: &p.frames, evaluate: vars.onEvaluate,
	}
	return map[string]handler{
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
		"threads":            p.onThreads,
		"exceptionInfo":      p.onExceptionInfo,
		"stackTrace":         p.onStackTrace,
		"scopes":             p.onScopes,
		"variables":          vars.onVariables,
		"setVariable":        vars.onSetVariable,
		"setExpression":      vars.onEvaluate,
		"dataBreakpointInfo": vars.onDataBreakpointInfo,
		"evaluate":           commands.onEvaluate,
		"completions":        commands.onCompletions,
		"clew/stack":         p.onClewStack,
		"clew/export":        exports.onExport,
		"clew/images":        (&imageLister{wire: p.wire, program: &p.program}).onImages,
		"clew/plugins":       plugins.onPlugins,
		"clew/reunwind":      (&reunwinder{wire: p.wire, program: &p.program, config: &p.config}).onReunwind,
	}
}

// Run passes messages until one side closes its connection, and closes the
// other's.
func (p *Proxy) Run() {
	defer func() { p.program.close(p.opts.Remote != nil) }()
	p.wire.Run(p)
}

// Request handles a request of the client's; see [wire.Handler].
func (p *Proxy) Request(ctx context.Context, m *dapwire.Message) {
	if h := p.routes[m.Command]; h != nil {
		h(ctx, m)
		return
	}
	p.up.Forward(m, nil)
}

// Cancel ends the work for a request.
func (p *Proxy) Cancel(request int64) bool { return p.program.stops.Cancel(request) }

// Lost notes that the program cannot be reached any more.
func (p *Proxy) Lost() { p.state.runs() }

// Event reads an event of Delve's before the client gets it.
func (p *Proxy) Event(m *dapwire.Message) {
	switch m.Event {
	case "initialized":
		p.attach()
		p.guard.started()
	case "stopped":
		p.steps.end()
		p.state.stops()
		p.nameStoppedThread(m)
		p.prefetchStopped(m)
	case "continued":
		p.state.runs()
		p.nameContinuedThread(m)
	case "terminated", "exited":
		p.steps.end()
		p.state.runs()
	}
}

// prefetchStopped begins with the stack that the client will ask for.
func (p *Proxy) prefetchStopped(stopped *dapwire.Message) {
	var body struct {
		ThreadID int64 `json:"threadId"`
	}
	if stopped.Decode("body", &body) == nil && body.ThreadID > 0 && p.program.target() != nil {
		go p.find(p.wire.Context(), 0, page{ThreadID: body.ThreadID, Levels: 1})
	}
}
