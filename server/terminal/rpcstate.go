package terminal

import (
	"errors"
	"time"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service"
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/debugger"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/server/dap/debuggee"
	common "github.com/clewdbg/clew/server/session"
)

var errAPIVersion = errors.New("unknown API version")

// prepared is a callback of a method that is called once the client's next request can be read
// already.
type prepared struct {
	service.RPCCallback
	setup chan struct{}
}

// SetupDoneChan implements [service.RPCCallback].
func (p *prepared) SetupDoneChan() chan struct{} { return p.setup }

// early lets the client's next request be read.
func early(cb service.RPCCallback) *prepared {
	close(cb.SetupDoneChan())
	return &prepared{cb, make(chan struct{})}
}

// after returns a callback that calls done before the client has the answer.
func after(cb service.RPCCallback, done func(out any, err error)) service.RPCCallback {
	return &callback{cb, func(out any, err error) (any, error) {
		done(out, err)
		return out, err
	}}
}

// state returns the program's state. A client that wants to wait waits for the stop.
func (c *rpcClient) state(arg rpc2.StateIn, cb service.RPCCallback) {
	own := early(cb)
	for {
		done, err := c.member.Use(c.ctx, "state")
		if err == nil {
			if c.dbg != nil {
				arg.NonBlocking = arg.NonBlocking && (c.dumps.Load() > 0 || c.config.Debugger.Backend == "rr") // Delve says "running" for other commands too
			}
			c.server.state(arg, after(own, func(any, error) { done() }))
			return
		}
		busy := new(common.BusyError)
		if !errors.As(err, &busy) || busy.State == common.Ending {
			cb.Return(nil, err)
			return
		}
		if arg.NonBlocking {
			cb.Return(rpc2.StateOut{State: &api.DebuggerState{Running: true}}, nil)
			return
		}
		if err := c.owner.WaitStopped(c.ctx); err != nil {
			cb.Return(nil, err)
			return
		}
	}
}

// command carries out a command, once the session's owner lets it.
func (c *rpcClient) command(command api.DebuggerCommand, cb service.RPCCallback) {
	if command.WithEvents {
		c.events.stopped.Store(false)
		cb = after(cb, func(any, error) { c.events.end() })
	}
	switch command.Name {
	case api.Halt:
		c.halt(command, cb)
	case api.SwitchThread, api.SwitchGoroutine:
		done, err := c.member.Change(c.ctx, command.Name)
		if err != nil {
			cb.Return(nil, err)
			return
		}
		c.server.command(command, nil, after(cb, func(any, error) { done() }))
	default:
		_, step := steps[command.Name]
		run, err := c.member.Resume(c.ctx, command.Name, step, c.door)
		if err != nil {
			cb.Return(nil, err)
			return
		}
		c.events.begin()
		if c.dbg != nil { // the session's owner knows that it runs, before Delve says so: a thread may step over a system call first
			cb = early(cb)
		}
		c.server.command(command, run, after(cb, func(out any, err error) { c.ended(run, command.Name, out, err) }))
	}
}

// halt halts whatever runs, and returns the state.
func (c *rpcClient) halt(command api.DebuggerCommand, cb service.RPCCallback) {
	own := early(cb)
	if state, _ := c.member.State(); state == common.Running || state == common.Stepping {
		if err := c.member.Halt(c.ctx); err != nil {
			cb.Return(nil, err)
			return
		}
		c.state(rpc2.StateIn{NonBlocking: true}, &callback{&prepared{cb, make(chan struct{})}, func(out any, err error) (any, error) {
			if state, ok := out.(rpc2.StateOut); ok && state.State != nil {
				return rpc2.CommandOut{State: *state.State}, err
			}
			return out, err
		}})
		return
	}
	done, err := c.member.Use(c.ctx, command.Name)
	if err != nil {
		cb.Return(nil, err)
		return
	}
	c.delve.Command(command, after(own, func(any, error) { done() }))
}

// ended tells the others how a command has ended.
func (c *rpcClient) ended(run *common.Run, command string, out any, err error) {
	exited := proc.ErrProcessExited{}
	switch result, ok := out.(rpc2.CommandOut); {
	case errors.As(err, &exited):
		run.Exited(exited.Status)
	case !ok:
		run.Refused()
	case result.State.Exited:
		run.Exited(result.State.ExitStatus)
	default:
		c.removeOnce(&result.State)
		run.Stopped(stopOf(&result.State, c.reasonOf(command, run, &result.State)))
	}
}

// stopReasons are the Debug Adapter Protocol's words for Delve's reasons.
var stopReasons = map[proc.StopReason]string{
	proc.StopNextFinished: "step", proc.StopManual: "pause", proc.StopUnknown: "unknown", proc.StopWatchpoint: "data breakpoint",
	proc.StopCallReturned: "function call",
}

// reasonOf says why a command has ended. A Delve server in another process does not say it.
func (c *rpcClient) reasonOf(command string, run *common.Run, state *api.DebuggerState) string {
	if c.dbg != nil {
		if reason, ok := stopReasons[c.dbg.StopReason()]; ok {
			return reason
		}
		return "breakpoint"
	}
	_, step := steps[command]
	switch {
	case atBreakpoint(state):
		return "breakpoint"
	case command == api.Call:
		return "function call"
	case step && !run.Wanted():
		return "step"
	}
	return "pause"
}

// stopOf describes the stop that a command has ended with.
func stopOf(state *api.DebuggerState, reason string) common.Stop {
	stop := common.Stop{Reason: reason}
	th := state.CurrentThread
	switch {
	case state.SelectedGoroutine != nil:
		stop.Thread = state.SelectedGoroutine.ID
	case th != nil && th.GoroutineID != 0:
		stop.Thread = th.GoroutineID
	case th != nil:
		stop.Thread = debuggee.ThreadID(uint64(th.ID))
	}
	if th == nil || th.Breakpoint == nil {
		return stop
	}
	switch th.Breakpoint.Name {
	case proc.FatalThrow:
		stop.Reason, stop.Description = "exception", "fatal error"
	case proc.UnrecoveredPanic:
		stop.Reason, stop.Description = "exception", "panic"
	}
	if th.Breakpoint.ID > 0 && stop.Reason == "breakpoint" {
		stop.Breakpoints = []int{th.Breakpoint.ID}
	}
	return stop
}

// restart starts the program again; whatever runs is halted before.
func (c *rpcClient) restart(arg rpc2.RestartIn, cb service.RPCCallback) {
	own := early(cb)
	done, err := c.member.Restart(c.ctx)
	if err != nil {
		cb.Return(nil, err)
		return
	}
	c.server.restart(arg, after(own, func(_ any, err error) { done(err == nil) }))
}

// detach ends the session: the others are told before.
func (c *rpcClient) detach(arg rpc2.DetachIn, _ *rpc2.DetachOut) error {
	if err := c.owner.End(c.ctx, c.member, "detach"); err != nil {
		return err
	}
	defer time.AfterFunc(detachAnswer, c.end)
	return c.dbg.Detach(arg.Kill)
}

// detachAnswer is the time for the answer to go out before the server ends.
const detachAnswer = 20 * time.Millisecond

// tellInvalidated tells the others that variables or stacks may have changed.
func (c *rpcClient) tellInvalidated() {
	c.member.Tell(common.Event{Kind: common.Invalidated, Areas: []string{"variables", "stacks"}})
}

// getEvents returns what this client's commands have caused, or waits for what others do.
func (c *rpcClient) getEvents(_ rpc2.GetEventsIn, cb service.RPCCallback) {
	close(cb.SetupDoneChan())
	out := new(rpc2.GetEventsOut)
	select {
	case e := <-c.events.own:
		out.Events = append(out.Events, *api.ConvertEvent(e))
	case e := <-c.events.foreign:
		out.Events = append(out.Events, *api.ConvertEvent(e))
	case <-c.gone:
	}
	for len(out.Events) < eventBuffer {
		select {
		case e := <-c.events.own:
			out.Events = append(out.Events, *api.ConvertEvent(e))
			continue
		default:
		}
		break
	}
	cb.Return(out, nil)
}

// download has Delve download debug information.
func (c *rpcClient) download(arg rpc2.DownloadLibraryDebugInfoIn, cb service.RPCCallback) {
	close(cb.SetupDoneChan())
	done, err := c.member.Use(c.ctx, "download")
	if err != nil {
		cb.Return(nil, err)
		return
	}
	defer done()
	var events func(*proc.Event)
	if arg.WithEvents {
		events = c.events.add
	}
	cb.Return(new(rpc2.DownloadLibraryDebugInfoOut), c.dbg.DownloadLibraryDebugInfo(arg.N+1, events))
}

// dumpStart begins a core dump, which reads the program until it is done.
func (c *rpcClient) dumpStart(arg rpc2.DumpStartIn, out *rpc2.DumpStartOut) error {
	done, err := c.member.Use(c.ctx, "dump")
	if err != nil {
		return err
	}
	if err := c.rpc.DumpStart(arg, out); err != nil {
		done()
		return err
	}
	c.dumps.Add(1)
	go func() {
		defer done()
		defer c.dumps.Add(-1)
		for c.dbg.DumpWait(time.Second).Dumping {
		}
	}()
	return nil
}

// delvesOwn are Delve's own answers. A panic of Delve's is one of them, by the same callback: what that ends must not stay begun.
type delvesOwn struct {
	*rpc2.RPCServer
	dbg *debugger.Debugger
}

// Command has Delve carry out a command. Its events go to the client that has sent it.
func (d delvesOwn) Command(command api.DebuggerCommand, cb service.RPCCallback) {
	defer returnPanic(cb)
	var events func(*proc.Event)
	if c := connOf(cb); c != nil && command.WithEvents {
		events = c.events.add
	}
	state, err := d.dbg.Command(&command, cb.SetupDoneChan(), cb.DisconnectChan(), events)
	if err != nil {
		cb.Return(nil, err)
		return
	}
	cb.Return(rpc2.CommandOut{State: *state}, nil)
}

// State returns the program's state.
func (d delvesOwn) State(arg rpc2.StateIn, cb service.RPCCallback) {
	defer returnPanic(cb)
	d.RPCServer.State(arg, cb)
}

// Restart starts the program again.
func (d delvesOwn) Restart(arg rpc2.RestartIn, cb service.RPCCallback) {
	defer returnPanic(cb)
	d.RPCServer.Restart(arg, cb)
}

// returnPanic is deferred, and answers with a panic.
func returnPanic(cb service.RPCCallback) {
	if p := recover(); p != nil {
		cb.Return(nil, panicked(p))
	}
}

// connOf returns the connection of the client that waits for an answer, nil if it is not known.
func connOf(cb service.RPCCallback) *rpcConn {
	for {
		switch c := cb.(type) {
		case *callback:
			cb = c.RPCCallback
		case *prepared:
			cb = c.RPCCallback
		case *again:
			cb = c.RPCCallback
		case *rpcCall:
			return c.conn
		default:
			return nil
		}
	}
}
