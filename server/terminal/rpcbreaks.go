package terminal

import (
	"context"
	"errors"
	"slices"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/breakpoints"
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
	err := aside(c, "create breakpoint", c.create)(arg, out)
	if err == nil {
		c.tellBreakpoint(&out.Breakpoint, "new")
	}
	return err
}

// create has clew create a breakpoint in native code, or in code that is not loaded, and Delve any other.
func (c *rpcClient) create(arg rpc2.CreateBreakpointIn, out *rpc2.CreateBreakpointOut) error {
	held := c.breaks.Load()
	if held == nil {
		return c.rpc.CreateBreakpoint(arg, out)
	}
	d := *held
	b, where := arg.Breakpoint, breakpoints.Where{}
	switch {
	case b.TraceReturn:
	case b.File != "":
		where = breakpoints.Where{File: b.File, Line: b.Line}
	case b.FunctionName != "" && b.Line <= 0:
		where = breakpoints.Where{Function: b.FunctionName}
	case b.Addr != 0 || len(b.Addrs) > 0:
		return c.createAt(d, arg, out)
	case arg.LocExpr != "":
		where = breakpoints.Parse(arg.LocExpr)
	}
	if !where.None() {
		made, err := d.BreakNative(b, where)
		if err == nil {
			if out.Breakpoint = *made; len(made.Addrs) == 0 {
				out.Breakpoint.File = "<pending> " + made.File // a terminal shows an address without that
			}
			c.watchBreaks(d)
			return nil
		}
		if !errors.Is(err, delve.ErrNoLocation) {
			return err
		}
	}
	return c.rpc.CreateBreakpoint(arg, out)
}

// createAt creates a breakpoint at addresses, of which one in native code stands for the location that the client has found there.
func (c *rpcClient) createAt(d locator, arg rpc2.CreateBreakpointIn, out *rpc2.CreateBreakpointOut) error {
	if err := c.rpc.CreateBreakpoint(arg, out); err != nil {
		return err
	}
	addr := arg.Breakpoint.Addr
	if len(arg.Breakpoint.Addrs) > 0 {
		addr = arg.Breakpoint.Addrs[0]
	}
	at := d.WhereAt(addr)
	if at.None() {
		return nil
	}
	where := breakpoints.Parse(arg.LocExpr)
	found, err := d.LocateNative(arg.LocExpr)
	if where.None() || err != nil || len(found) != 1 || !slices.Contains(found[0].PCs, addr) {
		where = at // it was found by a regular expression, or relative to a frame
	}
	made, err := d.AdoptBreak(out.Breakpoint.ID, where)
	if err == nil {
		out.Breakpoint = *made
		c.watchBreaks(d)
	}
	return err
}

// watchBreaks tells the client of breakpoints that are placed later, from now on.
func (c *rpcClient) watchBreaks(d locator) {
	c.watching.Do(func() { context.AfterFunc(c.ctx, d.TellBreaks(c.events.placed)) })
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
