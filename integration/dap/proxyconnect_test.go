package dap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"net/rpc/jsonrpc"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// rpcTo is a client of a headless server's JSON-RPC.
func rpcTo(t testing.TB, s *server) *rpc.Client {
	t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonrpc.NewClient(conn)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// rpcState is the place where the program has stopped.
type rpcState struct {
	Running, Exited bool
	CurrentThread   *struct {
		ID   int
		PC   uint64 `json:"pc"`
		Line int
	} `json:"currentThread"`
}

// command has a client's command done.
func command(t testing.TB, c *rpc.Client, name string) rpcState {
	t.Helper()
	var out struct{ State rpcState }
	if err := c.Call("RPCServer.Command", map[string]string{"name": name}, &out); err != nil {
		t.Fatal(name, err)
	}
	return out.State
}

// rpcDetach ends a headless server and its program.
func rpcDetach(t testing.TB, s *server) {
	t.Helper()
	_ = rpcTo(t, s).Call("RPCServer.Detach", map[string]bool{"Kill": true}, &struct{}{}) // it may end before it has answered
	if err := s.wait(); err != nil {
		t.Errorf("dlv ends with %v: %s", err, s.stderr)
	}
}

// stacksBehind runs `clew stack --connect`.
func stacksBehind(t testing.TB, addr string, flags ...string) (stacks []stackjson.Stack, code int, stderr string) {
	t.Helper()
	cmd := exec.Command(binary("clew"), append([]string{"stack", "--connect", addr, "--format", "json"}, flags...)...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var answer struct{ Stacks []stackjson.Stack }
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
			t.Fatalf("%v: %s", err, &out)
		}
	}
	return answer.Stacks, cmd.ProcessState.ExitCode(), problems.String()
}

// TestStackConnect: the stack of a program behind a headless server is the one
// that it recorded about itself, and looking at it changes nothing.
func TestStackConnect(t *testing.T) {
	for name, which := range map[string][]int{ // indices into program.Scenarios
		"static-O1-g-fp":                   {2, 4},
		"opened-O2-fp-stripped":            {1},
		"linked-O2-omit-notables-stripped": {1},
	} {
		v, _ := program.Named(name)
		for _, i := range which {
			sc := program.Scenarios[i]
			t.Run(name+"/"+sc.Name, func(t *testing.T) {
				t.Parallel()
				p := native(t, v.Name)
				stem := filepath.Join(t.TempDir(), "record")
				up := headless(t, []string{"env", "NATIVE_LIBRARY=" + p.Library}, true, p.Path, sc.Name, sc.Stop, stem)
				client := rpcTo(t, up)
				state := command(t, client, "continue")
				stacks, code, stderr := stacksBehind(t, up.addr)
				if len(stacks) != 1 || stderr != "" {
					t.Fatalf("%d stacks, exit code %d: %s", len(stacks), code, stderr)
				}
				compareRecorded(t, &stacks[0], v, sc, stem)
				if want := map[bool]int{true: 3}[stacks[0].Stop == stackjson.StopTruncated]; code != want {
					t.Errorf("exit code %d, want %d", code, want)
				}
				all, _, stderr := stacksBehind(t, up.addr, "--thread", "all")
				if !hasStack(all, &stacks[0]) || stderr != "" {
					t.Errorf("it is not among all threads' %d: %s", len(all), stderr)
				}
				all, _, stderr = stacksBehind(t, up.addr, "--goroutine", "all")
				if hasStack(all, &stacks[0]) != (stacks[0].Goroutine != 0) || len(all) < 4 || stderr != "" {
					t.Errorf("goroutine %d among all goroutines' %d: %s", stacks[0].Goroutine, len(all), stderr)
				}
				var now struct{ State rpcState }
				if err := client.Call("RPCServer.State", struct{ NonBlocking bool }{true}, &now); err != nil || now.State.Running || *now.State.CurrentThread != *state.CurrentThread {
					t.Errorf("it stood at %+v, and then at %+v: %v", state.CurrentThread, now.State, err)
				}
				rpcDetach(t, up)
			})
		}
	}
}

// compareRecorded compares a stack with the program's record.
func compareRecorded(t *testing.T, stack *stackjson.Stack, v program.Variant, sc program.Scenario, stem string) {
	t.Helper()
	record, err := program.ReadRecord(stem, stack.Thread)
	if err != nil {
		t.Fatal(err)
	}
	maps, err := program.ReadMappings(stem + ".maps")
	if err != nil {
		t.Fatal(err)
	}
	var bad program.Findings
	bad.CheckForm(stack, maps)
	if want := program.Expect(record, sc.Groups); v.Undescribed {
		bad.CheckHonest(stack, want)
	} else {
		bad.CheckExact(stack, want)
	}
	for _, b := range bad {
		t.Error(b)
	}
}

// hasStack reports whether a stack is among others, frame by frame.
func hasStack(all []stackjson.Stack, want *stackjson.Stack) bool {
	addresses := func(s *stackjson.Stack) (out string) {
		for i := range s.Frames {
			out += fmt.Sprint(s.Frames[i].PC, s.Frames[i].CFA, " ")
		}
		return out
	}
	for i := range all {
		if addresses(&all[i]) == addresses(want) {
			return true
		}
	}
	return false
}

// TestStackConnectRefused: without a program to read, one line says why.
func TestStackConnectRefused(t *testing.T) {
	exe, _ := plain(t)
	dlv, _ := peers(t)
	refused := func(addr, want string) {
		t.Helper()
		if stacks, code, stderr := stacksBehind(t, addr); code != 1 || len(stacks) > 0 || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%d stacks, exit code %d: %q, want %q", len(stacks), code, stderr, want)
		}
	}
	refused("127.0.0.1:1", "no Delve server at 127.0.0.1:1")
	refused("unix:/nonexistent/socket", "no Delve server at unix:/nonexistent/socket")
	refused(start(t, dlv).addr, "dlv dap is not one")

	up := headless(t, nil, true, exe, "wait")
	client := rpcTo(t, up)
	running := make(chan error, 1)
	go func() {
		running <- client.Call("RPCServer.Command", map[string]string{"name": "continue"}, &struct{ State rpcState }{})
	}()
	for other := rpcTo(t, up); ; time.Sleep(10 * time.Millisecond) {
		var out struct{ State rpcState }
		if err := other.Call("RPCServer.State", struct{ NonBlocking bool }{true}, &out); err != nil {
			t.Fatal(err)
		}
		if out.State.Running {
			break
		}
	}
	refused(up.addr, "the program is running")
	command(t, rpcTo(t, up), "halt")
	if err := <-running; err != nil {
		t.Errorf("continue, halted: %v", err)
	}
	if stacks, code, stderr := stacksBehind(t, up.addr); code != 0 || len(stacks) != 1 {
		t.Errorf("halted: %d stacks, exit code %d: %s", len(stacks), code, stderr)
	}
	rpcDetach(t, up)

	// One that takes one client only ends with it. Its program has no caller yet.
	up = headless(t, nil, false, exe)
	if stacks, code, stderr := stacksBehind(t, up.addr, "--thread", "all"); code != 3 || len(stacks) != 1 || !strings.Contains(stderr, "--accept-multiclient") {
		t.Errorf("one client: %d stacks, exit code %d: %s", len(stacks), code, stderr)
	}
	if err := up.wait(); err != nil {
		t.Errorf("dlv ends with %v", err)
	}
}

// TestStackConnectCore: a core file behind a server is not looked at through it.
func TestStackConnectCore(t *testing.T) {
	p := native(t, "static-O1-g-fp")
	core, _ := dumped(t, p)
	dlv, _ := peers(t)
	up := startAny(t, headlessBanner, dlv, "core", p.Path, core, "--headless", "--listen=127.0.0.1:0", "--accept-multiclient")
	_, code, stderr := stacksBehind(t, up.addr)
	if code != 1 || !strings.Contains(stderr, "core file") {
		t.Errorf("exit code %d: %q", code, stderr)
	}
}
