package terminal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/rpc/jsonrpc"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-delve/delve/service"
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/server/engine"
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
	client, ours := net.Pipe()
	upstream, theirs := net.Pipe()
	go newRPCConn(theirs, table).answer()
	f := &fronted{client: client, theirs: theirs, done: make(chan struct{})}
	_ = client.SetDeadline(time.Now().Add(time.Minute))
	front := Front{
		Client: ours, Upstream: NewUpstream(upstream, errGone),
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
