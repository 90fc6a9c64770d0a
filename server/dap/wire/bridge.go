package wire

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clewdbg/clew/server/dapwire"
)

// Options describe the two connections.
type Options struct {
	// Client and Upstream are closed by [Bridge.Run].
	Client, Upstream io.ReadWriteCloser
	// MaxMessage bounds a message, in bytes; 0 is [dapwire.DefaultMaxContent].
	MaxMessage int
	// Lost says that the upstream is another process, and what the client is told when
	// the connection to it ends. "" is for a session in this process.
	Lost string
	// Cancelled is the cause of a context that ends because the client has cancelled its
	// request.
	Cancelled error
	// AnswerHead matches the beginning of an answer of the upstream's: the number of the
	// request, and its command. A long answer is told by it.
	AnswerHead *regexp.Regexp
	// Log takes messages for the debugging of clew itself.
	Log func(format string, args ...any)
	// Crowded says that other clients depend on the session, which then gives up one that
	// does not read. Nil: no other client ever does.
	Crowded func() bool
}

// Handler handles what does not just pass.
type Handler interface {
	// Request handles a request of the client's, one after the other; the client is told
	// of an error. The context ends with the session, or when the client cancels the request.
	Request(ctx context.Context, m *dapwire.Message) error
	// Event may change an event of Delve's before the client gets it.
	Event(m *dapwire.Message)
	// Cancel ends the work for a request, and returns false if there is none.
	Cancel(request int64) bool
	// Lost is called when the connection to another process has ended, before the client
	// is told.
	Lost()
	// Failed reads an error of Delve's for a request that was answered before, and returns what the client gets in its place.
	Failed(m *dapwire.Message) *dapwire.Message
	// Left is called when the client is gone, and may keep the upstream until it returns.
	Left()
}

// Bridge passes messages between a client and Delve's session.
type Bridge struct {
	Client *Client
	Up     *Link

	opts     Options
	requests requests
	ctx      context.Context
	end      context.CancelFunc
	over     atomic.Bool // the client knows that the session has ended
	bad      atomic.Bool // the client's last message is malformed
	passes   atomic.Bool // see PassAll
}

// NewBridge makes a bridge; [Bridge.Run] runs it.
func NewBridge(opts Options) *Bridge {
	if opts.Crowded == nil {
		opts.Crowded = func() bool { return false }
	}
	b := &Bridge{Client: &Client{out: newOutbox(opts.Client, opts.Crowded), log: opts.Log, cancelled: opts.Cancelled}, opts: opts}
	if opts.Lost != "" {
		b.Client.unanswered = make(map[int64]string)
	}
	b.Up = newLink(opts.Upstream, b.Client.Send)
	b.ctx, b.end = context.WithCancel(context.Background())
	return b
}

// Context is that of the session; it ends with the client's connection.
func (b *Bridge) Context() context.Context { return b.ctx }

// Log writes to the log.
func (b *Bridge) Log(format string, args ...any) { b.opts.Log(format, args...) }

// Over notes that the client knows of the session's end, and returns whether it knew before.
func (b *Bridge) Over() (before bool) { return b.over.Swap(true) }

// End closes the client's connection once it has taken its messages. The upstream stays as
// long as [Handler.Left] keeps it.
func (b *Bridge) End() {
	b.Client.out.flush(flushPatience)
	b.farewell()
}

// PassAll has every message pass from now on, without a handler.
func (b *Bridge) PassAll() { b.passes.Store(true) }

// maxQueue bounds the messages that wait for their turn; then the client waits.
const maxQueue = 64

// flushPatience bounds the time for a client to take its last messages.
const flushPatience = 2 * time.Second

// Run passes messages until one side closes its connection, and closes the other's.
func (b *Bridge) Run(h Handler) {
	defer func() { _ = b.opts.Client.Close() }()
	defer b.end()
	var wait sync.WaitGroup
	wait.Go(func() {
		b.fromUpstream(h)
		b.tellLost(h)
		b.Client.out.flush(flushPatience)
		b.farewell() // ends the reading of requests
	})
	queue := make(chan *dapwire.Message, maxQueue)
	go b.read(h, queue)
	for m := range queue {
		b.handle(h, m)
	}
	h.Left()
	_ = b.opts.Upstream.Close()
	wait.Wait()
}

// farewellPatience bounds the time for a client to close its connection after the session's end.
const farewellPatience = 500 * time.Millisecond

// farewell closes the client's connection, where it can first for what is sent to the client. A client that writes into a
// connection that is closed whole is told so by SIGPIPE, which kills Emacs in batch mode.
func (b *Bridge) farewell() {
	if half, ok := b.opts.Client.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		select {
		case <-b.ctx.Done(): // the client has closed its side: see read
		case <-time.After(farewellPatience):
		}
	}
	_ = b.opts.Client.Close()
}

// read reads what the client sends. It reads ahead, so that a client that closes its
// connection ends the work for its requests.
func (b *Bridge) read(h Handler, queue chan<- *dapwire.Message) {
	defer close(queue)
	defer b.end()
	r := dapwire.NewReader(b.opts.Client, b.opts.MaxMessage)
	for {
		content, err := r.Read()
		if err != nil {
			if errors.As(err, new(*dapwire.FramingError)) {
				b.opts.Log("client: %v", err)
				b.Client.Refuse(&dapwire.Message{}, Malformed, "Malformed message", err.Error())
			}
			return
		}
		m, err := dapwire.Parse(content)
		if b.bad.Store(err != nil); err != nil {
			// Delve ends the session for such a message, and may do so.
			b.opts.Log("client: %v", err)
			if b.Up.write(content) != nil {
				return
			}
			continue
		}
		if m = b.bound(m, content); m == nil || b.arrived(h, m) {
			continue
		}
		b.Client.await(m)
		queue <- m
	}
}

// clewPrefix begins the names of requests that are clew's own.
const clewPrefix = "clew/"

// arrived sees a request as soon as it was read, before its turn: what ends the work for
// another cannot wait for it. It returns true where no more is to be done.
func (b *Bridge) arrived(h Handler, m *dapwire.Message) (done bool) {
	switch {
	case m.Type != dapwire.TypeRequest, b.passes.Load():
	case m.Command == "cancel":
		return b.cancel(h, m)
	case m.Command == "disconnect", m.Command == "terminate":
		b.requests.cancelAll(b.opts.Cancelled) // it would wait for them
	case strings.HasPrefix(m.Command, clewPrefix):
		b.requests.begin(b.ctx, m.Seq)
	}
	return false
}

// cancel ends clew's work for a request. Delve takes no such requests: the others pass
// and are refused.
func (b *Bridge) cancel(h Handler, m *dapwire.Message) bool {
	seq, ok := cancelled(m)
	if !ok || !b.requests.cancel(seq, b.opts.Cancelled) && !h.Cancel(seq) {
		return false
	}
	b.Client.Respond(m, nil)
	return true
}

// handle handles one message of the client's.
func (b *Bridge) handle(h Handler, m *dapwire.Message) {
	if m.Type != dapwire.TypeRequest {
		if m.Type == dapwire.TypeResponse {
			b.Client.renumber(m)
		}
		_ = b.Up.write(m.Bytes()) // that the connection is gone is noticed where it is read
		return
	}
	ctx := b.ctx
	if own, ok := b.requests.context(m.Seq); ok {
		ctx = own
		defer b.requests.done(m.Seq)
	}
	if b.passes.Load() {
		b.Up.Forward(m, nil)
		return
	}
	if err := h.Request(ctx, m); err != nil {
		b.Client.Fail(m, err)
	}
}

// Begin makes the context of a request that the client can cancel, until done is called.
func (b *Bridge) Begin(ctx context.Context, m *dapwire.Message) (_ context.Context, done func()) {
	return b.requests.begin(ctx, m.Seq), func() { b.requests.done(m.Seq) }
}

// fromUpstream passes what Delve sends.
func (b *Bridge) fromUpstream(h Handler) {
	defer b.Up.closed()
	r := dapwire.NewSkippingReader(b.opts.Upstream, b.opts.MaxMessage)
	for {
		content, err := r.Read()
		if long, ok := errors.AsType[*dapwire.LongError](err); ok {
			b.opts.Log("upstream: %v", err)
			content, err = replaceLong(long, b.opts.AnswerHead)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				b.opts.Log("upstream: %v", err)
			}
			return
		}
		if content == nil {
			continue
		}
		m, err := dapwire.Parse(content)
		if err != nil {
			b.opts.Log("upstream: %v", err)
			continue
		}
		b.toClient(h, m)
	}
}

// toClient passes one message of Delve's.
func (b *Bridge) toClient(h Handler, m *dapwire.Message) {
	switch {
	case m.Type == dapwire.TypeResponse:
		if !m.Success && !b.Up.awaits(m.RequestSeq) {
			if m = h.Failed(m); m.Type == dapwire.TypeEvent {
				b.toClient(h, m)
				return
			}
		}
		if m = b.Up.answered(m); m == nil {
			return
		}
	case m.Type == dapwire.TypeEvent && !b.passes.Load():
		h.Event(m)
	}
	if m.Event == "terminated" || m.Type == dapwire.TypeResponse && m.Command == "disconnect" && m.Success {
		b.Over()
	}
	b.Client.Send(m)
}
