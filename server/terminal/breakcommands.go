package terminal

import (
	"errors"
	"fmt"
	"net/rpc"
	"slices"
	"strings"

	delveterminal "github.com/go-delve/delve/pkg/terminal"
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/server/delve/internals"
)

// breakCommands are commands that GDB has and Delve lacks. They carry out Delve's own, over the interface that any server has.
type breakCommands struct {
	client *rpc2.RPCClient
	server *rpc.Client
	call   func(line string) error
}

const (
	rbreakHelp = `Sets a breakpoint in each function whose name a regular expression matches.

	rbreak <regex>

The expression may match anywhere in the name, of Go's functions and of native ones: rbreak ^step_. See also: "help break".`
	tbreakHelp = `Sets a breakpoint that is removed when it has stopped the program.

	tbreak [name] [locspec] [if <condition>]

See also: "help break".`
)

// maxRbreak bounds the breakpoints of one command: each takes Delve a millisecond or more, at every start of the program again.
const maxRbreak = 512

// addCommands adds clew's commands to a terminal.
func addCommands(t *delveterminal.Term, client *rpc2.RPCClient, server *rpc.Client) error {
	for _, c := range []struct {
		name, help string
		run        func(*breakCommands, string) error
	}{{"rbreak", rbreakHelp, (*breakCommands).rbreak}, {"tbreak", tbreakHelp, (*breakCommands).tbreak}} {
		err := internals.AddCommand(t, c.name, c.help, func(_ api.EvalScope, args string, call func(string) error) error {
			return c.run(&breakCommands{client, server, call}, args)
		})
		if err != nil {
			return err
		}
	}
	return addValueCommands(t, client, server)
}

var (
	errNoPattern     = errors.New("a regular expression is required; . matches all functions")
	errNotHere       = errors.New("this server has no temporary breakpoints")
	errNoneTemporary = errors.New("no breakpoint was set")
)

// rbreak sets breakpoints in functions.
func (b *breakCommands) rbreak(pattern string) error {
	if pattern == "" {
		return errNoPattern
	}
	spec := "/" + pattern + "/"
	found, _, err := b.client.FindLocation(api.EvalScope{GoroutineID: -1}, spec, false, nil)
	switch {
	case err != nil && strings.HasSuffix(err.Error(), "not found"), err == nil && len(found) == 0:
		return fmt.Errorf("no function's name matches %q", pattern)
	case err != nil:
		return err
	case len(found) > maxRbreak:
		return fmt.Errorf("%q matches %d functions, as %s: more than %d breakpoints are not set at once", pattern, len(found), someNames(found), maxRbreak)
	}
	set := 0
	for _, l := range found {
		bp, err := b.client.CreateBreakpointWithExpr(&api.Breakpoint{Addr: l.PC, Addrs: l.PCs, AddrPid: l.PCPids}, spec, nil, false)
		if err != nil { // another stands there
			fmt.Printf("%s: %v\n", someNames([]api.Location{l}), err)
			continue
		}
		set++
		fmt.Printf("Breakpoint %d set at %#x for %s() %s:%d\n", bp.ID, bp.Addr, bp.FunctionName, bp.File, bp.Line)
	}
	if len(found) > few {
		fmt.Printf("%d breakpoints set\n", set)
	}
	return nil
}

// few is as many breakpoints as one can count.
const few = 10

func someNames(found []api.Location) string {
	var names []string
	for i := range found {
		if fn := found[i].Function; fn != nil && len(names) < 3 {
			names = append(names, fn.Name())
		}
	}
	return strings.Join(names, ", ")
}

// tbreak sets a breakpoint, and has the server remove it when it was hit.
func (b *breakCommands) tbreak(args string) error {
	before, err := b.client.ListBreakpoints(true)
	if err != nil {
		return err
	}
	if err := b.call("break " + args); err != nil {
		return err
	}
	after, err := b.client.ListBreakpoints(true)
	if err != nil {
		return err
	}
	after = slices.DeleteFunc(after, func(bp *api.Breakpoint) bool {
		return slices.ContainsFunc(before, func(old *api.Breakpoint) bool { return old.ID == bp.ID })
	})
	if len(after) == 0 {
		return errNoneTemporary
	}
	for _, bp := range after {
		if err := b.server.Call("RPCServer.OnceBreakpoint", onceIn{bp.ID}, new(onceOut)); err != nil {
			_, _ = b.client.ClearBreakpoint(bp.ID)
			return fmt.Errorf("%w: %w", errNotHere, err)
		}
		fmt.Printf("Breakpoint %d is temporary\n", bp.ID)
	}
	return nil
}
