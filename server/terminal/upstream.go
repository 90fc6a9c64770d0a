package terminal

import (
	"encoding/json"
	"errors"
	"net"
	"net/rpc"
	"net/rpc/jsonrpc"
	"sync"

	"github.com/go-delve/delve/service"
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/internal/printable"
)

// Upstream is a connection to a Delve server's JSON-RPC. Several clients of this process's share it:
// net/rpc numbers their requests.
type Upstream struct {
	*rpc.Client
	lost chan struct{} // closed when the connection has ended
	why  error         // what requests fail with then
}

// NewUpstream speaks JSON-RPC on a connection. Requests that it ends without an answer to fail with lost.
func NewUpstream(conn net.Conn, lost error) *Upstream {
	codec := &endingCodec{ClientCodec: jsonrpc.NewClientCodec(conn), ended: make(chan struct{})}
	return &Upstream{Client: rpc.NewClientWithCodec(codec), lost: codec.ended, why: lost}
}

// endingCodec tells the end of its connection.
type endingCodec struct {
	rpc.ClientCodec
	ended chan struct{}
	once  sync.Once
}

// ReadResponseHeader implements [rpc.ClientCodec]. After an error it is not called again.
func (c *endingCodec) ReadResponseHeader(r *rpc.Response) error {
	err := c.ClientCodec.ReadResponseHeader(r)
	if err != nil {
		c.end()
	}
	r.Error = printable.Lines(r.Error)
	return err
}

// ReadResponseBody implements [rpc.ClientCodec].
func (c *endingCodec) ReadResponseBody(x any) error {
	err := c.ClientCodec.ReadResponseBody(x)
	if err != nil && x != nil {
		c.end()
	}
	return err
}

func (c *endingCodec) end() { c.once.Do(func() { close(c.ended) }) }

// start sends a request.
func (u *Upstream) start(method string, arg any) *rpc.Call {
	return u.Go(method, arg, new(json.RawMessage), make(chan *rpc.Call, 1))
}

// result waits for the answer to a request.
func (u *Upstream) result(call *rpc.Call) (json.RawMessage, error) {
	err := (<-call.Done).Error
	switch {
	case err == nil:
		return *call.Reply.(*json.RawMessage), nil
	case errors.As(err, new(rpc.ServerError)):
		return nil, err
	}
	return nil, u.why
}

// call calls a method of the server's.
func (u *Upstream) call(method string, arg, out any) error {
	raw, err := u.result(u.start("RPCServer."+method, arg))
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, out)
}

// relay has the server answer a client's request as it is. Requests reach the server in the
// client's order.
func (c *rpcConn) relay(req rpc.Request) {
	var arg json.RawMessage
	if err := c.codec.ReadRequestBody(&arg); err != nil {
		c.respond(&req, nil, err)
		return
	}
	done := func() {}
	if c.admit != nil {
		var err error
		if done, err = c.admit(req.ServiceMethod); err != nil {
			c.respond(&req, nil, err)
			return
		}
	}
	if !c.take() {
		done()
		return
	}
	call := c.up.start(req.ServiceMethod, arg)
	c.calls.Go(func() {
		defer func() {
			c.give()
			done()
		}()
		out, err := c.up.result(call)
		c.respond(&req, out, err)
	})
}

// Pipe returns a connection to the server that shares this one, and ends with it.
func (u *Upstream) Pipe() net.Conn {
	ours, theirs := net.Pipe()
	c := newRPCConn(theirs, nil)
	c.up = u
	ended := make(chan struct{})
	go func() {
		c.answer()
		c.cancel()
		close(ended)
	}()
	go func() {
		select {
		case <-u.lost:
		case <-ended:
		}
		_ = c.codec.Close()
	}()
	return ours
}

// upstreamMethods are the methods of a Delve server.
type upstreamMethods struct{ *Upstream }

// answered has a method answered later. The client's next request is read once the server has this one.
func answered[Out any](m upstreamMethods, method string, arg any, cb service.RPCCallback) {
	call := m.start("RPCServer."+method, arg)
	close(cb.SetupDoneChan())
	var out Out
	raw, err := m.result(call)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		cb.Return(nil, err)
		return
	}
	cb.Return(out, nil)
}

func (m upstreamMethods) Command(arg api.DebuggerCommand, cb service.RPCCallback) {
	answered[rpc2.CommandOut](m, "Command", arg, cb)
}

func (m upstreamMethods) State(arg rpc2.StateIn, cb service.RPCCallback) {
	answered[rpc2.StateOut](m, "State", arg, cb)
}

func (m upstreamMethods) Restart(arg rpc2.RestartIn, cb service.RPCCallback) {
	answered[rpc2.RestartOut](m, "Restart", arg, cb)
}

func (m upstreamMethods) Stacktrace(arg rpc2.StacktraceIn, out *rpc2.StacktraceOut) error {
	return m.call("Stacktrace", arg, out)
}

func (m upstreamMethods) CancelNext(arg rpc2.CancelNextIn, out *rpc2.CancelNextOut) error {
	return m.call("CancelNext", arg, out)
}

func (m upstreamMethods) Eval(arg rpc2.EvalIn, out *rpc2.EvalOut) error {
	return m.call("Eval", arg, out)
}

func (m upstreamMethods) Set(arg rpc2.SetIn, out *rpc2.SetOut) error { return m.call("Set", arg, out) }

func (m upstreamMethods) ListLocalVars(arg rpc2.ListLocalVarsIn, out *rpc2.ListLocalVarsOut) error {
	return m.call("ListLocalVars", arg, out)
}

func (m upstreamMethods) ListFunctionArgs(arg rpc2.ListFunctionArgsIn, out *rpc2.ListFunctionArgsOut) error {
	return m.call("ListFunctionArgs", arg, out)
}

func (m upstreamMethods) ListRegisters(arg rpc2.ListRegistersIn, out *rpc2.ListRegistersOut) error {
	return m.call("ListRegisters", arg, out)
}

func (m upstreamMethods) FindLocation(arg rpc2.FindLocationIn, out *rpc2.FindLocationOut) error {
	return m.call("FindLocation", arg, out)
}

func (m upstreamMethods) CreateWatchpoint(arg rpc2.CreateWatchpointIn, out *rpc2.CreateWatchpointOut) error {
	return m.call("CreateWatchpoint", arg, out)
}

func (m upstreamMethods) SetExecutionPoint(arg rpc2.SetExecutionPointIn, out *rpc2.SetExecutionPointOut) error {
	return m.call("SetExecutionPoint", arg, out)
}

func (m upstreamMethods) ListGoroutines(arg rpc2.ListGoroutinesIn, out *rpc2.ListGoroutinesOut) error {
	return m.call("ListGoroutines", arg, out)
}
