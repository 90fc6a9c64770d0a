package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"net/rpc/jsonrpc"
	"reflect"
	"runtime/debug"
	"sync"

	"github.com/go-delve/delve/pkg/logflags"
	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service"

	"github.com/clewdbg/clew/server/delve"
	common "github.com/clewdbg/clew/server/session"
)

// rpcClient is one client of JSON-RPC. Delve's server does not tell its methods which client asks;
// here each client has a table of its own.
type rpcClient struct {
	*server
	owner   *common.Session
	member  *common.Client
	config  *service.Config
	end     func() // ends the server
	methods map[string]reflect.Value
	events  *eventStream

	ctx     context.Context
	gone    chan struct{} // closed with the connection
	codec   rpc.ServerCodec
	sending sync.Mutex
}

func newRPCClient(s *server, owner *common.Session, config *service.Config, end func()) *rpcClient {
	c := &rpcClient{server: s, owner: owner, config: config, end: end, events: newEventStream(), gone: make(chan struct{})}
	c.member = owner.Join("dlv client", c.events.told)
	c.methods = make(map[string]reflect.Value)
	for name, method := range c.table() {
		c.methods["RPCServer."+name] = reflect.ValueOf(method)
	}
	return c
}

// serve answers requests until the connection ends. Those that take long are answered by
// goroutines of their own.
func (c *rpcClient) serve(conn io.ReadWriteCloser) {
	var cancel context.CancelFunc
	c.ctx, cancel = context.WithCancel(context.Background())
	c.codec = jsonrpc.NewServerCodec(conn)
	defer c.codec.Close()
	defer c.member.Leave()
	defer close(c.gone)
	defer cancel()
	for {
		var req rpc.Request
		if err := c.codec.ReadRequestHeader(&req); err != nil {
			if !errors.Is(err, io.EOF) {
				delve.LogRPCError("rpc: %v", err)
			}
			return
		}
		c.request(req)
	}
}

// request answers one request, or has it answered.
func (c *rpcClient) request(req rpc.Request) {
	method, ok := c.methods[req.ServiceMethod]
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
		answer := &rpcCall{client: c, req: req, setup: make(chan struct{})}
		go func() {
			defer func() {
				if p := recover(); p != nil {
					answer.Return(nil, panicked(p))
				}
			}()
			method.Call([]reflect.Value{argument.Elem(), reflect.ValueOf(answer)})
		}()
		<-answer.setup
		return
	}
	reply := reflect.New(method.Type().In(1).Elem())
	c.respond(&req, reply.Interface(), call(method, argument.Elem(), reply))
}

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
		delve.LogRPC(format, method, value, text)
	}
}

// respond sends an answer.
func (c *rpcClient) respond(req *rpc.Request, reply any, err error) {
	resp := rpc.Response{ServiceMethod: req.ServiceMethod, Seq: req.Seq}
	if err == nil {
		logRPC("-> %s %T%s", req.ServiceMethod, reply)
	} else {
		delve.LogRPC("-> %s error: %q", req.ServiceMethod, err)
		resp.Error, reply = err.Error(), struct{}{}
	}
	c.sending.Lock()
	defer c.sending.Unlock()
	if err := c.codec.WriteResponse(&resp, reply); err != nil {
		delve.LogRPCError("writing response: %v", err)
	}
}

// rpcCall is a request that is answered later.
type rpcCall struct {
	client *rpcClient
	req    rpc.Request
	setup  chan struct{} // closed when the client's next request is read
}

// SetupDoneChan implements [service.RPCCallback].
func (a *rpcCall) SetupDoneChan() chan struct{} { return a.setup }

// DisconnectChan implements [service.RPCCallback].
func (a *rpcCall) DisconnectChan() chan struct{} { return a.client.gone }

// Return implements [service.RPCCallback].
func (a *rpcCall) Return(out any, err error) {
	select {
	case <-a.setup:
	default:
		close(a.setup)
	}
	select {
	case <-a.client.gone:
	default:
		a.client.respond(&a.req, out, err)
	}
}

// eventStream are the events of one client: of its own commands and, between them, of what others
// do. Those of others are forgotten when it sends a command, whose own events a terminal reads up to the first stop.
type eventStream struct {
	own     chan *proc.Event
	foreign chan *proc.Event
}

// eventBuffer is the number of events that are kept, as in Delve.
const eventBuffer = 100

func newEventStream() *eventStream {
	return &eventStream{own: make(chan *proc.Event, eventBuffer), foreign: make(chan *proc.Event, eventBuffer)}
}

// add adds an event of a command of this client's.
func (s *eventStream) add(e *proc.Event) {
	select {
	case s.own <- e:
	default:
	}
}

// begin forgets what others have done.
func (s *eventStream) begin() {
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
