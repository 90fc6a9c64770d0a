package terminal

import (
	"encoding/json"
	"errors"
	"net/rpc"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service"
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"
)

// frontEvents are the events of a client's commands and, between them, of what others do. Delve's client asks for them
// until one says that the command has stopped; the server never says that of a command that clew has refused. It has
// one stream for all clients: only one whose command the server has got asks it.
type frontEvents struct {
	upstream *Upstream
	foreign  <-chan *proc.Event
	shared   bool          // other clients' commands are known
	turn     sync.Mutex    // of the requests for events
	asked    *rpc.Call     // the server has not answered; nil for none
	underWay atomic.Bool   // the server has got a command of this client's that has events
	began    chan struct{} // has a value after such a command
	refused  chan struct{} // has a value after a refusal
}

func newFrontEvents(upstream *Upstream, foreign <-chan *proc.Event, shared bool) *frontEvents {
	return &frontEvents{upstream: upstream, foreign: foreign, shared: shared, began: make(chan struct{}, 1), refused: make(chan struct{}, 1)}
}

// get returns the next events: the server's, what another client has done, or the end of a refused command.
func (e *frontEvents) get(arg rpc2.GetEventsIn, cb service.RPCCallback) {
	close(cb.SetupDoneChan())
	e.turn.Lock()
	defer e.turn.Unlock()
	for {
		if e.asked == nil && (!e.shared || e.underWay.Load()) {
			e.asked = e.upstream.start("RPCServer.GetEvents", arg)
		}
		var answered chan *rpc.Call
		if e.asked != nil {
			answered = e.asked.Done
		}
		select {
		case call := <-answered:
			e.asked = nil
			call.Done <- call // for result
			e.answer(call, cb)
		case foreign := <-e.foreign:
			cb.Return(rpc2.GetEventsOut{Events: []api.Event{*api.ConvertEvent(foreign)}}, nil)
		case <-e.refused:
			e.underWay.Store(false)
			cb.Return(rpc2.GetEventsOut{Events: []api.Event{{Kind: api.EventStopped}}}, nil)
		case <-e.began:
			continue
		case <-e.upstream.lost:
			cb.Return(nil, e.upstream.why)
		}
		return
	}
}

// answer returns the server's events.
func (e *frontEvents) answer(call *rpc.Call, cb service.RPCCallback) {
	raw, err := e.upstream.result(call)
	var out rpc2.GetEventsOut
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		cb.Return(nil, err)
		return
	}
	if slices.ContainsFunc(out.Events, func(event api.Event) bool {
		return event.Kind == api.EventStopped || event.Kind == api.EventDownloadLibraryInfoDone
	}) {
		e.underWay.Store(false)
	}
	cb.Return(out, nil)
}

// begin notes that the server gets a command with events, and forgets the end of an earlier one.
func (e *frontEvents) begin() {
	for _, note := range []chan struct{}{e.refused, e.began} {
		select {
		case <-note:
		default:
		}
	}
	e.underWay.Store(true)
	select {
	case e.began <- struct{}{}:
	default:
	}
}

// ended notes how a command with events has ended: clew's refusal is an error that is not the server's.
func (e *frontEvents) ended(err error) {
	if err == nil || errors.As(err, new(rpc.ServerError)) {
		return
	}
	select {
	case e.refused <- struct{}{}:
	default:
	}
}

// frontMethods are the methods of a Delve server, whose commands have events.
type frontMethods struct {
	upstreamMethods
	events *frontEvents
}

// Command has the server carry out a command.
func (m frontMethods) Command(command api.DebuggerCommand, cb service.RPCCallback) {
	if command.WithEvents && command.Name != api.Halt {
		m.events.begin()
	}
	m.upstreamMethods.Command(command, cb)
}

// command has the server carry out a command. A halt waits for no other request.
func (e *frontEvents) command(s *server) func(api.DebuggerCommand, service.RPCCallback) {
	return func(command api.DebuggerCommand, cb service.RPCCallback) {
		if command.Name == api.Halt {
			s.delve.Command(command, cb)
			return
		}
		s.command(command, nil, e.watch(&command, cb))
	}
}

// watch returns the callback of a command whose refusal ends its events.
func (e *frontEvents) watch(command *api.DebuggerCommand, cb service.RPCCallback) service.RPCCallback {
	if !command.WithEvents {
		return cb
	}
	return after(cb, func(_ any, err error) { e.ended(err) })
}
