package terminal

import (
	"context"
	"encoding/json"

	"github.com/go-delve/delve/service"
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	common "github.com/clewdbg/clew/server/session"
)

// frontClient is a client of a Delve server in another process that shares its session with other clients of this
// process. The owner knows what these do, and not what clients do that are connected to the server directly.
type frontClient struct {
	*rpcClient
	events   *frontEvents
	recorded *rpc2.RecordedOut // nil until the server was asked
}

func newFrontClient(s *server, owner *common.Session, conn *rpcConn, events *frontEvents) *frontClient {
	c := &frontClient{rpcClient: &rpcClient{server: s, rpcConn: conn, owner: owner}, events: events}
	c.door = c.haltServer
	c.member = owner.Join("dlv client", conn.events.told)
	conn.admit = c.admit
	return c
}

// table lists the methods that the server does not answer alone.
func (c *frontClient) table() map[string]any {
	in := scopes{c.server}
	return map[string]any{
		"State":            c.state,
		"GetEvents":        c.events.get,
		"Command":          c.command,
		"Restart":          c.restart,
		"Recorded":         c.isRecorded,
		"Detach":           c.detach,
		"CreateBreakpoint": changed(c, "CreateBreakpoint", "new", func(out *rpc2.CreateBreakpointOut) *api.Breakpoint { return &out.Breakpoint }),
		"ToggleBreakpoint": changed(c, "ToggleBreakpoint", "changed", func(out *rpc2.ToggleBreakpointOut) *api.Breakpoint { return out.Breakpoint }),
		"AmendBreakpoint":  c.amendBreakpoint,
		"ClearBreakpoint":  changed(c, "ClearBreakpoint", "removed", func(out *rpc2.ClearBreakpointOut) *api.Breakpoint { return out.Breakpoint }),
		"Stacktrace":       reads(c.rpcClient, "stacktrace", c.stacktrace),
		"Eval":             reads(c.rpcClient, "eval", in.eval),
		"Set":              changes(c.rpcClient, "set", in.set),
		"ListLocalVars":    reads(c.rpcClient, "locals", in.locals),
		"ListFunctionArgs": reads(c.rpcClient, "arguments", in.arguments),
		"ListRegisters":    reads(c.rpcClient, "registers", in.registers),
		"FindLocation":     reads(c.rpcClient, "find location", in.findLocation),
		"CreateWatchpoint": reads(c.rpcClient, "watch", in.watch),
		"ListGoroutines":   reads(c.rpcClient, "goroutines", in.goroutines),

		"SetExecutionPoint":        changes(c.rpcClient, "set execution point", c.setExecutionPoint),
		"CancelNext":               changes(c.rpcClient, "cancel next", c.cancelNext),
		"DownloadLibraryDebugInfo": c.download,
	}
}

// isRecorded asks the server once, at a stop: Delve keeps the answer until one. It is refused before.
func (c *frontClient) isRecorded(arg rpc2.RecordedIn, out *rpc2.RecordedOut) error {
	if c.recorded == nil {
		err := reads(c.rpcClient, "recorded", func(arg rpc2.RecordedIn, out *rpc2.RecordedOut) error { return c.up.call("Recorded", arg, out) })(arg, out)
		if err != nil {
			return err
		}
		kept := *out
		c.recorded = &kept
	}
	*out = *c.recorded
	return nil
}

// leave leaves the session. Where the server takes several clients, the connection to it stays while a run of this
// client's goes on: it is the door to halt it by, and says when it has stopped.
func (c *frontClient) leave(several func() bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-c.up.lost:
			cancel()
		case <-ctx.Done():
		}
	}()
	if state, own := c.member.State(); own && (state == common.Running || state == common.Stepping) && several() {
		_ = c.owner.WaitStopped(ctx) // or the server is gone
	}
	c.member.Leave()
}

// atAnyTime are methods that the server answers while its program runs, besides those of the table.
var atAnyTime = map[string]bool{
	"RPCServer.GetVersion": true, "RPCServer.SetApiVersion": true, "RPCServer.IsMulticlient": true,
	"RPCServer.AttachedToExistingProcess": true, "RPCServer.GetBufferedTracepoints": true, "RPCServer.CancelDownloads": true,
	"RPCServer.DumpWait": true, "RPCServer.DumpCancel": true, "RPCServer.StopRecording": true,
}

// admit refuses a request that the server would keep waiting for a program that runs.
func (c *frontClient) admit(method string) (done func(), err error) {
	if atAnyTime[method] {
		return func() {}, nil
	}
	return c.member.Use(c.ctx, method)
}

// haltServer has the server halt its program. It waits for the answer: until then the server says of the stopped
// program that it runs.
func (c *frontClient) haltServer(ctx context.Context) {
	select {
	case <-c.up.start("RPCServer.Command", api.DebuggerCommand{Name: api.Halt}).Done: // whether it stops is seen at its stop
	case <-ctx.Done():
	}
}

// command carries out a command, once the session's owner lets it. A halt waits for no other request.
func (c *frontClient) command(command api.DebuggerCommand, cb service.RPCCallback) {
	if command.Name == api.Halt {
		c.rpcClient.command(command, cb)
		return
	}
	c.rpcClient.command(command, c.events.watch(&command, cb))
}

// detach ends the session: the others are told before.
func (c *frontClient) detach(arg rpc2.DetachIn, out *rpc2.DetachOut) error {
	if err := c.owner.End(c.ctx, c.member, "detach"); err != nil {
		return err
	}
	return c.up.call("Detach", arg, out)
}

// download has the server download debug information.
func (c *frontClient) download(arg rpc2.DownloadLibraryDebugInfoIn, cb service.RPCCallback) {
	done, err := c.member.Use(c.ctx, "download")
	if err != nil {
		cb.Return(nil, err)
		return
	}
	if arg.WithEvents {
		c.events.begin()
	}
	answered[rpc2.DownloadLibraryDebugInfoOut](upstreamMethods{c.up}, "DownloadLibraryDebugInfo", arg, after(cb, func(any, error) { done() }))
}

// set has the server change breakpoints of the stopped program.
func (c *frontClient) set(name string, arg json.RawMessage, out *json.RawMessage) error {
	done, err := c.member.Use(c.ctx, name)
	if err != nil {
		return err
	}
	defer done()
	*out, err = c.up.result(c.up.start("RPCServer."+name, arg))
	return err
}

// changed is a method that changes breakpoints, and tells the others of the one that the server answers with.
func changed[Out any](c *frontClient, name, change string, of func(*Out) *api.Breakpoint) func(json.RawMessage, *json.RawMessage) error {
	return func(arg json.RawMessage, out *json.RawMessage) error {
		if err := c.set(name, arg, out); err != nil {
			return err
		}
		var answer Out
		if json.Unmarshal(*out, &answer) == nil {
			c.tellBreakpoint(of(&answer), change)
		}
		return nil
	}
}

// amendBreakpoint tells the others of the breakpoint that the client has sent.
func (c *frontClient) amendBreakpoint(arg json.RawMessage, out *json.RawMessage) error {
	if err := c.set("AmendBreakpoint", arg, out); err != nil {
		return err
	}
	var in rpc2.AmendBreakpointIn
	if json.Unmarshal(arg, &in) == nil {
		c.tellBreakpoint(&in.Breakpoint, "changed")
	}
	return nil
}
