package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/rpc"
	"net/rpc/jsonrpc"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-delve/delve/pkg/logflags"
	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service"

	"github.com/clewdbg/clew/server/delve/breakpoints"
	"github.com/clewdbg/clew/server/delve/delvelog"
	"github.com/clewdbg/clew/server/internal/bounded"
	common "github.com/clewdbg/clew/server/session"
)

// rpcConn answers the requests of one connection of JSON-RPC. Delve's server does not tell its methods
// which client asks; here each connection has a table of its own.
type rpcConn struct {
	methods map[string]reflect.Value
	before  func(method string) // is called before each request, and may add methods; nil for nothing
	events  *eventStream
	up      *Upstream // answers all other requests; nil: they are unknown
	// admit is asked before each of these, and says who has resumed the program; may be nil.
	admit func(method string) (done func(), err error)

	ctx     context.Context
	cancel  context.CancelFunc
	gone    chan struct{} // closed with the connection
	codec   rpc.ServerCodec
	sending sync.Mutex
	calls   sync.WaitGroup // that are answered later
	under   chan struct{}  // has an element for each of them
}

// Bounds on what a client may ask: the bytes of a request, and how many requests are under way that are answered later. Delve's
// own clients wait for each answer, but for those to a run and to what halts it; one that never reads its answers waits here.
const (
	maxRequest = 16 << 20
	maxUnder   = 1024
)

var errLongRequest = fmt.Errorf("a request is longer than %d MiB", maxRequest>>20)

// newRPCConn returns a connection with these methods.
func newRPCConn(conn io.ReadWriteCloser, table map[string]any) *rpcConn {
	requests := opened{bounded.NewReader(conn, maxRequest, errLongRequest), conn}
	c := &rpcConn{events: newEventStream(), gone: make(chan struct{}), codec: jsonrpc.NewServerCodec(requests), methods: make(map[string]reflect.Value), under: make(chan struct{}, maxUnder)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.add(table)
	return c
}

func (c *rpcConn) add(table map[string]any) {
	for name, method := range table {
		c.methods["RPCServer."+name] = reflect.ValueOf(method)
	}
}

// rpcClient is one client of the program that this process debugs.
type rpcClient struct {
	*server
	*rpcConn
	owner  *common.Session
	member *common.Client
	config *service.Config
	end    func()                // ends the server
	door   func(context.Context) // halts a run of this client's

	watching sync.Once // it is told of breakpoints that are placed later
}

func newRPCClient(s *server, owner *common.Session, config *service.Config, end func(), conn io.ReadWriteCloser) *rpcClient {
	c := &rpcClient{server: s, rpcConn: newRPCConn(conn, nil), owner: owner, config: config, end: end, door: owner.Nudge}
	c.member = owner.Join("dlv client", c.events.told)
	c.add(c.table())
	c.add(map[string]any{"OnceBreakpoint": c.onceBreakpoint, "DefineType": reads(c, "define", scopes{c.server}.define)}) // clew's own
	return c
}

// serve answers requests until the connection ends.
func (c *rpcClient) serve() {
	c.answer()
	c.cancel()
	close(c.gone)
	c.member.Leave()
	_ = c.codec.Close()
}

// ends are how a connection ends in order, by either side.
var ends = []error{io.EOF, io.ErrClosedPipe, net.ErrClosed, os.ErrDeadlineExceeded}

// answer answers requests until no more come. Those that take long are answered by
// goroutines of their own.
func (c *rpcConn) answer() {
	for {
		var req rpc.Request
		if err := c.codec.ReadRequestHeader(&req); err != nil {
			if !slices.ContainsFunc(ends, func(end error) bool { return errors.Is(err, end) }) {
				delvelog.RPCError("rpc: %v", err)
			}
			return
		}
		c.request(req)
	}
}

// request answers one request, or has it answered.
func (c *rpcConn) request(req rpc.Request) {
	if c.before != nil {
		c.before(req.ServiceMethod)
	}
	method, ok := c.methods[req.ServiceMethod]
	if !ok && c.up != nil {
		c.relay(req)
		return
	}
	if !ok {
		_ = c.codec.ReadRequestBody(nil)
		c.respond(&req, nil, fmt.Errorf("unknown method: %s", req.ServiceMethod))
		return
	}
	argument := reflect.New(method.Type().In(0))
	if err := c.codec.ReadRequestBody(argument.Interface()); err != nil {
		c.respond(&req, nil, fmt.Errorf("malformed request body: %w", err))
		return
	}
	logRPC("<- %s(%T%s)", req.ServiceMethod, argument.Elem().Interface())
	if method.Type().In(1) == reflect.TypeFor[service.RPCCallback]() {
		answer := &rpcCall{conn: c, req: req, setup: make(chan struct{})}
		if !c.take() {
			return
		}
		c.calls.Go(func() {
			defer c.give()
			defer func() {
				if p := recover(); p != nil {
					answer.Return(nil, panicked(p))
				}
			}()
			method.Call([]reflect.Value{argument.Elem(), reflect.ValueOf(answer)})
		})
		<-answer.setup
		return
	}
	reply := reflect.New(method.Type().In(1).Elem())
	c.respond(&req, reply.Interface(), call(method, argument.Elem(), reply))
}

// take waits until one more request may be under way; false: the connection is gone.
func (c *rpcConn) take() bool {
	select {
	case c.under <- struct{}{}:
		return true
	case <-c.gone:
		return false
	}
}

// give ends what take began.
func (c *rpcConn) give() { <-c.under }

// call calls a method that returns an error. A panic of Delve's is one.
func call(method, argument, reply reflect.Value) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	err, _ = method.Call([]reflect.Value{argument, reply})[0].Interface().(error)
	return err
}

func panicked(p any) error { return fmt.Errorf("Internal debugger error: %v\n%s", p, debug.Stack()) } //nolint:staticcheck // ST1005: Delve's own words

// logRPC logs a message as Delve does; its last argument is a value that is written as JSON after
// its type.
func logRPC(format, method string, value any) {
	if logflags.RPC() {
		text, _ := json.Marshal(value)
		delvelog.RPC(format, method, value, text)
	}
}

// respond sends an answer.
func (c *rpcConn) respond(req *rpc.Request, reply any, err error) {
	resp := rpc.Response{ServiceMethod: req.ServiceMethod, Seq: req.Seq}
	if err == nil {
		logRPC("-> %s %T%s", req.ServiceMethod, reply)
	} else {
		delvelog.RPC("-> %s error: %q", req.ServiceMethod, err)
		resp.Error, reply = err.Error(), struct{}{}
	}
	c.sending.Lock()
	defer c.sending.Unlock()
	if err := c.codec.WriteResponse(&resp, reply); err != nil {
		delvelog.RPCError("writing response: %v", err)
	}
}

// rpcCall is a request that is answered later.
type rpcCall struct {
	conn  *rpcConn
	req   rpc.Request
	setup chan struct{} // closed when the client's next request is read
}

// SetupDoneChan implements [service.RPCCallback].
func (a *rpcCall) SetupDoneChan() chan struct{} { return a.setup }

// DisconnectChan implements [service.RPCCallback].
func (a *rpcCall) DisconnectChan() chan struct{} { return a.conn.gone }

// Return implements [service.RPCCallback].
func (a *rpcCall) Return(out any, err error) {
	select {
	case <-a.setup:
	default:
		close(a.setup)
	}
	select {
	case <-a.conn.gone:
	default:
		a.conn.respond(&a.req, out, err)
	}
}

// eventStream are the events of one client: of its own commands and, between them, of what others
// do. Those of others are forgotten when it sends a command, whose own events a terminal reads up to the first stop.
type eventStream struct {
	own     chan *proc.Event
	foreign chan *proc.Event
	stopped atomic.Bool // the command that was begun last has told its stop

	mu    sync.Mutex
	named map[int]bool // breakpoints that this command has placed: one whose library comes and goes is told once
}

// eventBuffer is the number of events that are kept, as in Delve.
const eventBuffer = 100

func newEventStream() *eventStream {
	return &eventStream{own: make(chan *proc.Event, eventBuffer), foreign: make(chan *proc.Event, eventBuffer)}
}

// add adds an event of a command of this client's.
func (s *eventStream) add(e *proc.Event) {
	if e.Kind == proc.EventStopped {
		s.stopped.Store(true)
	}
	select {
	case s.own <- e:
	default:
	}
}

// placed takes that a breakpoint was placed that was pending.
func (s *eventStream) placed(c breakpoints.Change) {
	if c.Verified && !c.Logged && s.first(c.ID) {
		l := &proc.LogicalBreakpoint{LogicalID: c.ID, Name: c.Name, File: c.File, Line: c.Line, FunctionName: c.Function}
		s.add(&proc.Event{Kind: proc.EventBreakpointMaterialized, BreakpointMaterializedEventDetails: &proc.BreakpointMaterializedEventDetails{Breakpoint: l}})
	}
}

// first says that a breakpoint was not placed before by the command that was begun last.
func (s *eventStream) first(id int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.named[id] {
		return false
	}
	if s.named == nil {
		s.named = make(map[int]bool)
	}
	s.named[id] = true
	return true
}

// end tells the stop of a command that was refused before Delve had it: a terminal reads events until there is one.
// Test: integration/scenarios, functions.
func (s *eventStream) end() {
	if !s.stopped.Load() {
		s.add(&proc.Event{Kind: proc.EventStopped})
	}
}

// begin forgets what others have done.
func (s *eventStream) begin() {
	s.mu.Lock()
	s.named = nil
	s.mu.Unlock()
	for {
		select {
		case <-s.foreign:
		default:
			return
		}
	}
}

// told takes what another client has done.
func (s *eventStream) told(e common.Event) {
	kind, ok := map[common.Kind]proc.EventKind{
		common.Continued: proc.EventResumed, common.StoppedAt: proc.EventStopped, common.Restarted: proc.EventStopped, common.Exited: proc.EventStopped,
	}[e.Kind]
	if !ok {
		return
	}
	select {
	case s.foreign <- &proc.Event{Kind: kind}:
	default:
	}
}
