package terminal

import (
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	common "github.com/clewdbg/clew/server/session"
)

// tellBreakpoint tells the others of a breakpoint of this client's.
func (c *rpcClient) tellBreakpoint(b *api.Breakpoint, change string) {
	if b == nil || b.File == "" || b.Line <= 0 {
		return
	}
	c.member.Tell(common.Event{Kind: common.BreakpointChanged, Breakpoint: &common.Breakpoint{Change: change, ID: b.ID, File: b.File, Line: b.Line}})
}

func (c *rpcClient) createBreakpoint(arg rpc2.CreateBreakpointIn, out *rpc2.CreateBreakpointOut) error {
	err := aside(c, "create breakpoint", c.rpc.CreateBreakpoint)(arg, out)
	if err == nil {
		c.tellBreakpoint(&out.Breakpoint, "new")
	}
	return err
}

func (c *rpcClient) amendBreakpoint(arg rpc2.AmendBreakpointIn, out *rpc2.AmendBreakpointOut) error {
	err := aside(c, "amend breakpoint", c.rpc.AmendBreakpoint)(arg, out)
	if err == nil {
		c.tellBreakpoint(&arg.Breakpoint, "changed")
	}
	return err
}

func (c *rpcClient) toggleBreakpoint(arg rpc2.ToggleBreakpointIn, out *rpc2.ToggleBreakpointOut) error {
	err := aside(c, "toggle breakpoint", c.rpc.ToggleBreakpoint)(arg, out)
	if err == nil {
		c.tellBreakpoint(out.Breakpoint, "changed")
	}
	return err
}

func (c *rpcClient) clearBreakpoint(arg rpc2.ClearBreakpointIn, out *rpc2.ClearBreakpointOut) error {
	err := aside(c, "clear breakpoint", c.rpc.ClearBreakpoint)(arg, out)
	if err == nil {
		c.tellBreakpoint(out.Breakpoint, "removed")
	}
	return err
}
