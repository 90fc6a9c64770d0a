package main

import (
	"fmt"
	"net"
	"net/rpc"
	"net/rpc/jsonrpc"
	"time"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"
)

// terminal is a client of Delve's JSON-RPC.
type terminal struct {
	name   string
	client *rpc.Client
	events chan toldEvent
	ended  time.Time // set before events is closed
}

// toldEvent is an event with the time at which it came.
type toldEvent struct {
	kind api.EventKind
	at   time.Time
}

func newTerminal(name, addr string) (*terminal, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &terminal{name: name, client: jsonrpc.NewClient(conn), events: make(chan toldEvent, 4096)}, nil
}

// listen waits for what others do, until the connection ends.
func (t *terminal) listen() {
	defer close(t.events)
	for {
		var out rpc2.GetEventsOut
		err := t.client.Call("RPCServer.GetEvents", rpc2.GetEventsIn{}, &out)
		now := time.Now()
		if err != nil {
			t.ended = now
			return
		}
		for _, e := range out.Events {
			t.events <- toldEvent{e.Kind, now}
		}
	}
}

func (t *terminal) call(method string, arg, reply any) error {
	select {
	case c := <-t.client.Go("RPCServer."+method, arg, reply, make(chan *rpc.Call, 1)).Done:
		return c.Error
	case <-time.After(2 * patience): // a state may wait for a stop
		return fmt.Errorf("%s: %s is not answered", t.name, method)
	}
}

// command sends a command, and returns when it is done.
func (t *terminal) command(name string) (*api.DebuggerState, error) {
	var out rpc2.CommandOut
	err := t.call("Command", api.DebuggerCommand{Name: name}, &out)
	return &out.State, err
}

// start sends a command that ends later.
func (t *terminal) start(name string) *rpc.Call {
	return t.client.Go("RPCServer.Command", api.DebuggerCommand{Name: name}, new(rpc2.CommandOut), nil)
}

// running asks whether the program runs.
func (t *terminal) running() (bool, error) {
	var out rpc2.StateOut
	err := t.call("State", rpc2.StateIn{NonBlocking: true}, &out)
	return err == nil && out.State.Running, err
}

func (t *terminal) drain() {
	for len(t.events) > 0 {
		<-t.events
	}
}
