package terminal

import (
	"context"
	"errors"
	"slices"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/server/delve/breakpoints"
	"github.com/clewdbg/clew/server/delve/held"
	common "github.com/clewdbg/clew/server/session"
	"github.com/clewdbg/clew/server/values"
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
	known := c.breaks.Load()
	if known == nil {
		return c.rpc.CreateBreakpoint(arg, out)
	}
	d := *known
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
		b.Cond = breakpoints.Spell(b.Cond)
		prints := breakpoints.Take(&b)
		made, err := d.BreakNative(b, where)
		if err == nil {
			d.PrintAt(made.ID, prints)
			d.ShowBreaks(made)
			if out.Breakpoint = *made; len(made.Addrs) == 0 {
				out.Breakpoint.File = "<pending> " + made.File // a terminal shows an address without that
			}
			c.watchBreaks(d)
			return nil
		}
		if !errors.Is(err, held.ErrNoLocation) {
			return err
		}
	}
	return c.rpc.CreateBreakpoint(arg, out)
}

// createAt creates a breakpoint at addresses, of which one in native code stands for the location that the client has found there.
func (c *rpcClient) createAt(d locator, arg rpc2.CreateBreakpointIn, out *rpc2.CreateBreakpointOut) error {
	addr := arg.Breakpoint.Addr
	if len(arg.Breakpoint.Addrs) > 0 {
		addr = arg.Breakpoint.Addrs[0]
	}
	at := d.WhereAt(addr)
	var prints breakpoints.Prints
	if !at.None() {
		arg.Breakpoint.Cond = breakpoints.Spell(arg.Breakpoint.Cond)
		prints = breakpoints.Take(&arg.Breakpoint)
	}
	if err := c.rpc.CreateBreakpoint(arg, out); err != nil || at.None() {
		return err
	}
	where := breakpoints.Parse(arg.LocExpr)
	found, err := d.LocateNative(arg.LocExpr)
	if where.None() || err != nil || len(found) != 1 || !slices.Contains(found[0].PCs, addr) {
		where = at // it was found by a regular expression, or relative to a frame
	}
	made, err := d.AdoptBreak(out.Breakpoint.ID, where)
	if err == nil {
		d.PrintAt(made.ID, prints)
		d.ShowBreaks(made)
		out.Breakpoint = *made
		c.watchBreaks(d)
	}
	return err
}

// watchBreaks tells the client of breakpoints that are placed later, from now on.
func (c *rpcClient) watchBreaks(d locator) {
	c.watching.Do(func() { context.AfterFunc(c.ctx, d.TellBreaks(c.events.placed)) })
}

// amend has Delve change a breakpoint.
func (c *rpcClient) amend(arg rpc2.AmendBreakpointIn, out *rpc2.AmendBreakpointOut) error {
	known := c.breaks.Load()
	if known == nil || !(*known).IsNativeBreak(arg.Breakpoint.ID) {
		return c.rpc.AmendBreakpoint(arg, out)
	}
	arg.Breakpoint.Cond = breakpoints.Spell(arg.Breakpoint.Cond)
	prints := breakpoints.Take(&arg.Breakpoint)
	err := c.rpc.AmendBreakpoint(arg, out)
	if err == nil {
		(*known).PrintAt(arg.Breakpoint.ID, prints)
	}
	return err
}

// shown completes breakpoints for a client, in work aside.
func (c *rpcClient) shown(all ...*api.Breakpoint) {
	all = slices.DeleteFunc(all, func(b *api.Breakpoint) bool { return b == nil })
	if known := c.breaks.Load(); known != nil && len(all) > 0 {
		(*known).ShowBreaks(all...)
	}
}

func (c *rpcClient) listBreakpoints(arg rpc2.ListBreakpointsIn, out *rpc2.ListBreakpointsOut) error {
	err := c.rpc.ListBreakpoints(arg, out)
	c.shown(slices.Clone(out.Breakpoints)...)
	return err
}

func (c *rpcClient) getBreakpoint(arg rpc2.GetBreakpointIn, out *rpc2.GetBreakpointOut) error {
	err := c.rpc.GetBreakpoint(arg, out)
	c.shown(&out.Breakpoint)
	return err
}

func (c *rpcClient) amendBreakpoint(arg rpc2.AmendBreakpointIn, out *rpc2.AmendBreakpointOut) error {
	err := aside(c, "amend breakpoint", c.amend)(arg, out)
	if err == nil {
		c.tellBreakpoint(&arg.Breakpoint, "changed")
	}
	return err
}

func (c *rpcClient) toggleBreakpoint(arg rpc2.ToggleBreakpointIn, out *rpc2.ToggleBreakpointOut) error {
	err := aside(c, "toggle breakpoint", func(arg rpc2.ToggleBreakpointIn, out *rpc2.ToggleBreakpointOut) error {
		defer func() { c.shown(out.Breakpoint) }()
		return c.rpc.ToggleBreakpoint(arg, out)
	})(arg, out)
	if err == nil {
		c.tellBreakpoint(out.Breakpoint, "changed")
	}
	return err
}

func (c *rpcClient) clearBreakpoint(arg rpc2.ClearBreakpointIn, out *rpc2.ClearBreakpointOut) error {
	err := aside(c, "clear breakpoint", func(arg rpc2.ClearBreakpointIn, out *rpc2.ClearBreakpointOut) error {
		defer func() { c.shown(out.Breakpoint) }()
		return c.rpc.ClearBreakpoint(arg, out)
	})(arg, out)
	if err == nil {
		c.tellBreakpoint(out.Breakpoint, "removed")
	}
	return err
}

// breakpointValues puts what a breakpoint in native code prints into its information.
func (s *server) breakpointValues(d locator, th *api.Thread) {
	b, info := th.Breakpoint, th.BreakpointInfo
	if info == nil || len(b.Variables) == 0 && b.LoadArgs == nil && b.LoadLocals == nil {
		return
	}
	var ofGo []int // which are Delve's
	native, err := d.InThread(th.ID, func(f *values.Frame) (err error) {
		info.Variables = nil
		for i, text := range b.Variables {
			one := api.Variable{Name: text}
			if v, err := f.Evaluate(text); err == nil {
				one = loaderOf(nil).variable(v)
			} else if one.Unreadable = err.Error(); values.OfGo(text, err) {
				ofGo = append(ofGo, i)
			}
			info.Variables = append(info.Variables, one)
		}
		info.Arguments, info.Locals = nil, nil
		if b.LoadArgs != nil && f.Lack() == nil {
			info.Arguments, err = listed(f, (*values.Frame).Arguments, b.LoadArgs)
		}
		if b.LoadLocals != nil && f.Lack() == nil && err == nil {
			info.Locals, err = listed(f, (*values.Frame).Locals, b.LoadLocals)
		}
		return err
	})
	if native && err != nil {
		info.Arguments, info.Locals, info.Variables = nil, nil, nil
		for _, text := range b.Variables {
			info.Variables = append(info.Variables, api.Variable{Name: text, Unreadable: err.Error()})
		}
		return
	}
	for _, i := range ofGo {
		var out rpc2.EvalOut
		in := rpc2.EvalIn{Scope: api.EvalScope{GoroutineID: th.GoroutineID}, Expr: b.Variables[i], Cfg: &api.LoadConfig{FollowPointers: true, MaxVariableRecurse: 1, MaxStringLen: 64, MaxArrayValues: 64, MaxStructFields: -1}}
		if th.GoroutineID > 0 && s.delve.Eval(in, &out) == nil && out.Variable != nil {
			info.Variables[i] = *out.Variable
		}
	}
}
