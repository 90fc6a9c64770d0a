package dap

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/stop"
)

// Options say what a proxy stands between, and with what it works.
type Options struct {
	// Client and Upstream are the two connections; the proxy closes both.
	Client, Upstream io.ReadWriteCloser
	// Session gives the process that the upstream debugs, nil where it is not to
	// be had here. It is called after each `initialized` event.
	Session func() *delve.Session
	// Remote reaches the process that the upstream debugs, where that is a Delve
	// server; it is called instead of Session, after the first `initialized` event,
	// and may take its time. The target is closed if it is an [io.Closer].
	Remote func(context.Context) (Target, stop.Program, error)
	// Strategies opens strategies: when the first stack is assembled, and for each
	// other list that a request names.
	Strategies StrategySource
	// DebugFolders are where separate debug files are looked for; nil means where
	// distributions put them.
	DebugFolders []string
	// Guard is told what to see to if this process is killed; may be nil.
	Guard Guard
	// MaxMessage bounds a message, in bytes; 0 is [dapwire.DefaultMaxContent].
	MaxMessage int
	// Patience bounds what clew does for one request; after it, Delve's own answer
	// goes out. 0 is [stop.DefaultPatience].
	Patience time.Duration
	// Lost says that the upstream is another process, and what the client is told
	// when the connection to it ends; see lost.go. "" is for a session of our own.
	Lost string
	// Log takes what is of interest to who debugs clew itself; may be nil.
	Log func(format string, args ...any)
}

// Proxy is one session.
type Proxy struct {
	opts    Options
	up      *link
	client  *client
	state   state
	config  config
	caps    clientCapabilities
	program program
	frames  frames
	alias   threadAlias
	said    said
	// requests are those of clew's own that are not answered yet.
	requests ownRequests
	ctx      context.Context        // of the session; ends with the client's connection
	armed    atomic.Pointer[Target] // has a breakpoint of a step of clew's
	over     atomic.Bool            // the client knows that the session has ended
	passes   atomic.Bool            // the upstream is clew's: everything passes
}

// New makes a proxy; [Proxy.Run] runs it.
func New(opts Options) *Proxy {
	if opts.Patience <= 0 {
		opts.Patience = stop.DefaultPatience
	}
	if opts.Log == nil {
		opts.Log = func(string, ...any) {}
	}
	p := &Proxy{opts: opts, client: &client{w: opts.Client}, config: defaultConfig()}
	if opts.Lost != "" {
		p.client.owed = make(map[int64]string)
	}
	p.up = newLink(opts.Upstream)
	p.program.stops = p.newStops()
	return p
}

// maxQueue bounds the messages that wait for their turn; then the client waits.
const maxQueue = 64

// Run passes messages until one side closes its connection, and closes the
// other's.
func (p *Proxy) Run() {
	defer p.close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p.ctx = ctx
	var wait sync.WaitGroup
	wait.Add(1)
	go func() {
		defer wait.Done()
		p.fromUpstream()
		p.tellLost()
		_ = p.opts.Client.Close() // ends the reading of requests
	}()
	queue := make(chan *dapwire.Message, maxQueue)
	go p.read(queue, cancel)
	for m := range queue {
		p.handle(ctx, m)
	}
	_ = p.opts.Upstream.Close()
	wait.Wait()
}

func (p *Proxy) close() {
	p.program.close(p.opts.Remote != nil)
	_ = p.opts.Upstream.Close()
	_ = p.opts.Client.Close()
}

// read reads what the client sends. It reads ahead, so that a client that goes
// away ends what is being done for it.
func (p *Proxy) read(queue chan<- *dapwire.Message, gone context.CancelFunc) {
	defer close(queue)
	defer gone()
	r := dapwire.NewReader(p.opts.Client, p.opts.MaxMessage)
	for {
		content, err := r.Read()
		if err != nil {
			var framing *dapwire.FramingError
			if errors.As(err, &framing) {
				p.opts.Log("client: %v", err)
				p.refuse(&dapwire.Message{}, errMalformed, "Malformed message", err.Error())
			}
			return
		}
		m, err := dapwire.Parse(content)
		if err != nil {
			// Delve ends the session for such a message; that is its decision.
			p.opts.Log("client: %v", err)
			if p.up.writeRaw(content) != nil {
				return
			}
			continue
		}
		if m = p.fits(m, content); m == nil {
			continue
		}
		if m.Type == dapwire.TypeRequest && !p.passes.Load() && p.hears(m) {
			continue
		}
		p.client.owes(m)
		queue <- m
	}
}

// fromUpstream passes what Delve sends.
func (p *Proxy) fromUpstream() {
	defer p.up.closed()
	r := dapwire.NewSkippingReader(p.opts.Upstream, p.opts.MaxMessage)
	for {
		content, err := r.Read()
		var long *dapwire.LongError
		if errors.As(err, &long) {
			content, err = p.tooLong(long)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				p.opts.Log("upstream: %v", err)
			}
			return
		}
		if content == nil {
			continue
		}
		m, err := dapwire.Parse(content)
		if err != nil {
			p.opts.Log("upstream: %v", err)
			continue
		}
		if m.Type == dapwire.TypeResponse {
			if m = p.up.answered(m); m == nil {
				continue
			}
		}
		if m.Type == dapwire.TypeEvent && !p.passes.Load() {
			p.onEvent(m)
		}
		p.hearEnd(m)
		p.client.send(m)
	}
}
