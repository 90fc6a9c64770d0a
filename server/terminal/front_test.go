package terminal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/rpc"
	"net/rpc/jsonrpc"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-delve/delve/service"
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/server/engine"
	common "github.com/clewdbg/clew/server/session"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/server/stop/stoptest"
	"github.com/clewdbg/clew/unwind"
)

// heldProgram is a fake program as a Delve server has it.
type heldProgram struct{ *stoptest.Program }

func (heldProgram) Live() bool                           { return true }
func (heldProgram) Stepping() bool                       { return false }
func (heldProgram) Arm(*stepping.Decision) (bool, error) { return false, nil }
func (heldProgram) EndStep() error                       { return nil }

var errGone = errors.New("the server has ended")

// fronted is a client before a fake server; theirs is the server's end.
type fronted struct {
	client, theirs net.Conn
	opened         int
	done           chan struct{}
}

func front(t *testing.T, program *stoptest.Program, table map[string]any) *fronted {
	t.Helper()
	return frontOf(t, nil, false, program, table)
}

// frontOf is front for a client that shares a session.
func frontOf(t *testing.T, owner *common.Session, several bool, program *stoptest.Program, table map[string]any) *fronted {
	t.Helper()
	client, ours := net.Pipe()
	upstream, theirs := net.Pipe()
	go newRPCConn(theirs, table).answer()
	f := &fronted{client: client, theirs: theirs, done: make(chan struct{})}
	_ = client.SetDeadline(time.Now().Add(time.Minute))
	front := Front{
		Client: ours, Upstream: NewUpstream(upstream, errGone), Owner: owner, Several: func() bool { return several },
		Stacks: stop.StacksOptions{Strategies: func() ([]engine.Named, func(), error) {
			return stoptest.Strategies(unwind.TrustCFI), func() {}, nil
		}},
		Open: func() (Held, stop.Program, error) {
			f.opened++
			return heldProgram{program}, program, nil
		},
	}
	go func() {
		front.Serve(func() { _ = upstream.Close() })
		close(f.done)
	}()
	t.Cleanup(func() {
		_, _ = client.Close(), theirs.Close()
		<-f.done
	})
	return f
}

// TestFrontRelays: what clew does not know passes as it is, under the client's IDs, and errors too.
func TestFrontRelays(t *testing.T) {
	f := front(t, nil, map[string]any{
		"Future": func(arg json.RawMessage, out *json.RawMessage) error { *out = arg; return nil },
		"Never":  func(struct{}, *struct{}) error { return errors.New("refused by the server") },
	})
	answers := json.NewDecoder(f.client)
	for request, want := range map[string]string{
		`{"method":"RPCServer.Future","params":[{"New":[1,{}]}],"id":"x"}`: `{"id":"x","result":{"New":[1,{}]},"error":null}`,
		`{"method":"RPCServer.Never","params":[{}],"id":2}`:                `{"id":2,"result":null,"error":"refused by the server"}`,
		`{"method":"RPCServer.Unknown","params":[{}],"id":3}`:              `{"id":3,"result":null,"error":"unknown method: RPCServer.Unknown"}`,
		`{"method":"RPCServer.Future","id":4}`:                             `{"id":4,"result":null,"error":"jsonrpc: request body missing params"}`,
	} {
		go fmt.Fprintln(f.client, request)
		var got json.RawMessage
		if err := answers.Decode(&got); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", request, got, err, want)
		}
	}
}

// TestFrontStacks: a stack is clew's; before a server of clew's it is the server's.
func TestFrontStacks(t *testing.T) {
	for name, clews := range map[string]bool{"Delve": false, "clew": true} {
		program := stoptest.New(6)
		program.Extra = 0x502fff // a frame that the server alone has
		methods := &fakeMethods{program: program}
		f := front(t, program, map[string]any{
			"GetVersion": func(_ api.GetVersionIn, out *versionOut) error { out.SupportsClew = clews; return nil },
			"Stacktrace": methods.Stacktrace,
		})
		client := jsonrpc.NewClient(f.client)
		want := map[bool][]int{false: {0, 2, 3, 4, 5, 6}, true: {0, 1, 2, 3, 4, 5, 6}}[clews]
		for range 2 {
			var out rpc2.StacktraceOut
			if err := client.Call("RPCServer.Stacktrace", rpc2.StacktraceIn{Id: stoptest.Goroutine, Depth: 50}, &out); err != nil || !slices.Equal(lines(out.Locations), want) {
				t.Errorf("%s: %d, %v; want %d", name, lines(out.Locations), err, want)
			}
		}
		if want := map[bool]int{false: 1}[clews]; f.opened != want {
			t.Errorf("%s: the program was opened %d times", name, f.opened)
		}
	}
}

// TestFrontHalts: a halt reaches the server while a command of the same client runs the program, and
// what waits when the server ends is answered with an error.
func TestFrontHalts(t *testing.T) {
	halted, program := make(chan struct{}), stoptest.New(6)
	f := front(t, program, map[string]any{
		"GetVersion": func(api.GetVersionIn, *versionOut) error { return nil },
		"Command": func(command api.DebuggerCommand, cb service.RPCCallback) {
			close(cb.SetupDoneChan())
			if command.Name == api.Halt {
				close(halted)
			}
			<-halted
			if command.Name == api.Rewind {
				<-cb.DisconnectChan()
			}
			cb.Return(rpc2.CommandOut{State: api.DebuggerState{Pid: 7}}, nil)
		},
	})
	client := jsonrpc.NewClient(f.client)
	running := client.Go("RPCServer.Command", api.DebuggerCommand{Name: api.Continue}, new(rpc2.CommandOut), nil)
	var out rpc2.CommandOut
	if err := client.Call("RPCServer.Command", api.DebuggerCommand{Name: api.Halt}, &out); err != nil || out.State.Pid != 7 {
		t.Errorf("%+v, %v", out, err)
	}
	if call := <-running.Done; call.Error != nil {
		t.Error(call.Error)
	}
	waits := client.Go("RPCServer.Command", api.DebuggerCommand{Name: api.Rewind}, new(rpc2.CommandOut), nil)
	time.Sleep(10 * time.Millisecond)
	_ = f.theirs.Close()
	if call := <-waits.Done; call.Error == nil || !strings.Contains(call.Error.Error(), errGone.Error()) {
		t.Errorf("%v", call.Error)
	}
}

// oneProgram is a fake server's: a command runs until it is halted.
type oneProgram struct {
	halts  chan struct{}
	events chan api.Event
	asked  atomic.Int32 // for events
}

func (p *oneProgram) table() map[string]any {
	return map[string]any{
		"GetVersion": func(api.GetVersionIn, *versionOut) error { return nil },
		"Command": func(command api.DebuggerCommand, cb service.RPCCallback) {
			close(cb.SetupDoneChan())
			if command.Name == api.Halt {
				p.halts <- struct{}{}
			} else {
				<-p.halts
				if command.WithEvents {
					p.events <- api.Event{Kind: api.EventStopped}
				}
			}
			cb.Return(rpc2.CommandOut{State: api.DebuggerState{Pid: 7}}, nil)
		},
		"State": func(_ rpc2.StateIn, cb service.RPCCallback) {
			close(cb.SetupDoneChan())
			cb.Return(rpc2.StateOut{State: &api.DebuggerState{Pid: 7}}, nil)
		},
		"GetEvents": func(_ rpc2.GetEventsIn, cb service.RPCCallback) {
			close(cb.SetupDoneChan())
			p.asked.Add(1)
			select {
			case e := <-p.events:
				cb.Return(rpc2.GetEventsOut{Events: []api.Event{e}}, nil)
			case <-cb.DisconnectChan():
			}
		},
		"ListFunctions": func(_ rpc2.ListFunctionsIn, out *rpc2.ListFunctionsOut) error {
			out.Funcs = []string{"main.main"}
			return nil
		},
		"AmendBreakpoint": func(json.RawMessage, *struct{}) error { return nil },
	}
}

// TestFrontShared: of clients that share a session, one's commands are told the others, who are refused by its name while
// the program runs, and can halt it. The events of a refused command end, and leave the server's to whose they are.
func TestFrontShared(t *testing.T) {
	server, owner := &oneProgram{halts: make(chan struct{}, 8), events: make(chan api.Event, 8)}, common.New(common.Options{})
	client := func() *rpc.Client {
		return jsonrpc.NewClient(frontOf(t, owner, true, stoptest.New(6), server.table()).client)
	}
	a, b := client(), client()
	events := func(c *rpc.Client) <-chan *rpc.Call {
		return c.Go("RPCServer.GetEvents", rpc2.GetEventsIn{}, new(rpc2.GetEventsOut), nil).Done
	}
	expect := func(call <-chan *rpc.Call, want api.EventKind) {
		t.Helper()
		done := <-call
		if got := done.Reply.(*rpc2.GetEventsOut).Events; done.Error != nil || len(got) != 1 || got[0].Kind != want {
			t.Errorf("%+v, %v; want %v", got, done.Error, want)
		}
	}
	var state rpc2.StateOut
	if err := b.Call("RPCServer.State", rpc2.StateIn{NonBlocking: true}, &state); err != nil || state.State.Running {
		t.Fatalf("%+v, %v", state, err)
	}
	told := events(b)
	running, own := a.Go("RPCServer.Command", api.DebuggerCommand{Name: api.Continue, WithEvents: true}, new(rpc2.CommandOut), nil), events(a)
	expect(told, api.EventResumed)
	if err := b.Call("RPCServer.State", rpc2.StateIn{NonBlocking: true}, &state); err != nil || !state.State.Running {
		t.Errorf("%+v, %v", state, err)
	}
	for method, arg := range map[string]any{
		"ListFunctions": rpc2.ListFunctionsIn{}, "Stacktrace": rpc2.StacktraceIn{}, "AmendBreakpoint": rpc2.AmendBreakpointIn{},
		"Command": api.DebuggerCommand{Name: api.Next, WithEvents: true},
	} {
		if err := b.Call("RPCServer."+method, arg, new(json.RawMessage)); err == nil || !strings.Contains(err.Error(), "dlv client 2 has resumed it (continue)") {
			t.Errorf("%s: %v", method, err)
		}
	}
	expect(events(b), api.EventStopped) // of its refused command
	told = events(b)
	if err := b.Call("RPCServer.Command", api.DebuggerCommand{Name: api.Halt}, new(rpc2.CommandOut)); err != nil {
		t.Error(err)
	}
	if call := <-running.Done; call.Error != nil {
		t.Error(call.Error)
	}
	expect(own, api.EventStopped)
	expect(told, api.EventStopped)
	if n := server.asked.Load(); n != 1 {
		t.Errorf("the server is asked for events %d times", n)
	}
	if err := b.Call("RPCServer.ListFunctions", rpc2.ListFunctionsIn{}, new(json.RawMessage)); err != nil {
		t.Error(err)
	}
}

// TestFrontVanishes: a server that takes one client only learns at once that it is gone; one that takes several keeps the
// connection until the program has stopped.
func TestFrontVanishes(t *testing.T) {
	for _, several := range []bool{false, true} {
		server, owner := &oneProgram{halts: make(chan struct{}, 8), events: make(chan api.Event, 8)}, common.New(common.Options{})
		f, other := frontOf(t, owner, several, stoptest.New(6), server.table()), owner.Join("editor", func(common.Event) {})
		client := jsonrpc.NewClient(f.client)
		client.Go("RPCServer.Command", api.DebuggerCommand{Name: api.Continue}, new(rpc2.CommandOut), nil)
		for state := common.Stopped; state != common.Running; state, _ = other.State() {
			time.Sleep(time.Millisecond)
		}
		_ = client.Close()
		select {
		case <-f.done:
			if several {
				t.Error("the door is closed while the program runs")
			}
		case <-time.After(50 * time.Millisecond):
			if !several {
				t.Error("the server does not learn that its client is gone")
			}
		}
		if several {
			if err := other.Halt(t.Context()); err != nil {
				t.Error(err)
			}
			<-f.done
		}
	}
}

// TestPipe: a pipe shares the connection, and ends with it.
func TestPipe(t *testing.T) {
	upstream, theirs := net.Pipe()
	go newRPCConn(theirs, map[string]any{"Future": func(arg json.RawMessage, out *json.RawMessage) error { *out = arg; return nil }}).answer()
	up := NewUpstream(upstream, errGone)
	first, second := up.Pipe(), up.Pipe()
	for _, pipe := range []net.Conn{first, second} {
		var out int
		if err := jsonrpc.NewClient(pipe).Call("RPCServer.Future", 5, &out); err != nil || out != 5 {
			t.Errorf("%d, %v", out, err)
		}
		_ = pipe.Close() // the other one stays
	}
	third := up.Pipe()
	_ = theirs.Close()
	_ = third.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := third.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("a pipe without a server: %v", err)
	}
}
