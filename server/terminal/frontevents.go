package terminal

import (
	"encoding/json"
	"errors"
	"net/rpc"
	"sync"

	"github.com/go-delve/delve/service"
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"
)

// frontEvents are the events of a client's commands. Delve's client asks for them until one says that the
// command has stopped; the server never says that of a command that clew has refused.
type frontEvents struct {
	upstream *Upstream
	turn     sync.Mutex    // of the requests for events
	asked    *rpc.Call     // the server has not answered; nil for none
	refused  chan struct{} // has a value after a refusal
}

func newFrontEvents(upstream *Upstream) *frontEvents {
	return &frontEvents{upstream: upstream, refused: make(chan struct{}, 1)}
}

// get returns the next events: the server's, or the end of a refused command.
func (e *frontEvents) get(arg rpc2.GetEventsIn, cb service.RPCCallback) {
	close(cb.SetupDoneChan())
	e.turn.Lock()
	defer e.turn.Unlock()
	if e.asked == nil {
		e.asked = e.upstream.start("RPCServer.GetEvents", arg)
	}
	select {
	case call := <-e.asked.Done:
		e.asked = nil
		call.Done <- call // for result
		raw, err := e.upstream.result(call)
		var out rpc2.GetEventsOut
		if err == nil {
			err = json.Unmarshal(raw, &out)
		}
		if err != nil {
			cb.Return(nil, err)
			return
		}
		cb.Return(out, nil)
	case <-e.refused:
		cb.Return(rpc2.GetEventsOut{Events: []api.Event{{Kind: api.EventStopped}}}, nil)
	}
}

// command has the server carry out a command. A halt waits for no other request.
func (e *frontEvents) command(s *server) func(api.DebuggerCommand, service.RPCCallback) {
	return func(command api.DebuggerCommand, cb service.RPCCallback) {
		if command.Name == api.Halt {
			s.delve.Command(command, cb)
			return
		}
		select {
		case <-e.refused: // of an earlier command
		default:
		}
		s.command(command, nil, after(cb, func(_ any, err error) {
			if command.WithEvents && err != nil && !errors.As(err, new(rpc.ServerError)) {
				select {
				case e.refused <- struct{}{}:
				default:
				}
			}
		}))
	}
}
