package terminal

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/go-delve/delve/pkg/locspec"
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/breakpoints"
	"github.com/clewdbg/clew/server/delve/held"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/values"
)

// scopes answers the requests that are about a frame.
type scopes struct{ *server }

// A request's scope names a frame by its index in the stack that the client was
// shown. inFrame answers the request in that frame: byDelve, under the index that the
// frame has in Delve's stack, or byClew if Delve has no such frame; where that is nil
// Delve answers all the same ([clewFrame.inserted]).
func (s scopes) inFrame(scope *api.EvalScope, byDelve func() error, byClew func(f *clewFrame) error) error {
	s.gate.Lock()
	defer s.gate.Unlock()
	if scope == nil || scope.Frame <= 0 || scope.Frame >= maxDepth || !s.readable() {
		return byDelve() // the innermost frame is the same for all
	}
	stack, _, err := s.stack(&rpc2.StacktraceIn{Id: scope.GoroutineID, Depth: scope.Frame})
	if err != nil {
		logFallback("the scope", err)
	}
	if stack == nil {
		return byDelve()
	}
	if scope.Frame >= len(stack.Frames) {
		return fmt.Errorf("Frame %d does not exist in goroutine %d", scope.Frame, scope.GoroutineID) //nolint:staticcheck // ST1005: Delve's own words
	}
	f := &stack.Frames[scope.Frame]
	if f.DelveFrame >= 0 {
		scope.Frame = f.DelveFrame
		return byDelve()
	}
	if scope.DeferredCall > 0 {
		return fmt.Errorf("Frame %d only has %d deferred calls", scope.Frame, 0) //nolint:staticcheck // ST1005: Delve's own words
	}
	own := &clewFrame{server: s.server, stack: stack, index: scope.Frame}
	if byClew == nil {
		return own.inserted(scope, byDelve)
	}
	return byClew(own)
}

func (s scopes) eval(arg rpc2.EvalIn, out *rpc2.EvalOut) error {
	byDelve := func() error { return s.delve.Eval(arg, out) }
	err := s.inValues(&arg.Scope, byDelve, func(f *values.Frame) error {
		v, err := f.Evaluate(arg.Expr)
		if err == nil {
			one := loaderOf(arg.Cfg).variable(v)
			out.Variable = &one
		}
		return err
	})
	if values.OfGo(arg.Expr, err) {
		return byDelve()
	}
	return err
}

func (s scopes) set(arg rpc2.SetIn, out *rpc2.SetOut) error {
	defer s.changed()
	return s.inValues(&arg.Scope, func() error { return s.delve.Set(arg, out) }, func(f *values.Frame) error {
		v, err := f.Evaluate(arg.Symbol)
		if err == nil {
			err = f.Set(v, arg.Value)
		}
		return err
	})
}

func (s scopes) locals(arg rpc2.ListLocalVarsIn, out *rpc2.ListLocalVarsOut) error {
	return s.inValues(&arg.Scope, func() error { return s.delve.ListLocalVars(arg, out) }, func(f *values.Frame) (err error) {
		out.Variables, err = listed(f, (*values.Frame).Locals, &arg.Cfg)
		return err
	})
}

func (s scopes) arguments(arg rpc2.ListFunctionArgsIn, out *rpc2.ListFunctionArgsOut) error {
	return s.inValues(&arg.Scope, func() error { return s.delve.ListFunctionArgs(arg, out) }, func(f *values.Frame) (err error) {
		out.Args, err = listed(f, (*values.Frame).Arguments, &arg.Cfg)
		return err
	})
}

func (s scopes) registers(arg rpc2.ListRegistersIn, out *rpc2.ListRegistersOut) error {
	if arg.Scope != nil && arg.Scope.Frame > 0 { // of the innermost frame the thread has more of them
		native, err := s.native(arg.Scope, func(f *values.Frame) error {
			out.Regs = registersOf(f)
			out.Registers = out.Regs.String()
			return nil
		})
		if native {
			return err
		}
	}
	return s.inFrame(arg.Scope, func() error { return s.delve.ListRegisters(arg, out) }, func(f *clewFrame) error {
		regs, err := f.registers()
		if err == nil {
			out.Regs = reading.RegisterList(f.stack.Arch, regs, arg.IncludeFp)
			out.Registers = out.Regs.String()
		}
		return err
	})
}

func (s scopes) watch(arg rpc2.CreateWatchpointIn, out *rpc2.CreateWatchpointOut) error {
	native, err := s.native(&arg.Scope, func(f *values.Frame) error {
		v, err := f.Evaluate(arg.Expr)
		if err != nil {
			return err
		}
		addr, size, err := v.Watchable()
		if err == nil {
			arg.Expr = values.GoExpression(addr, size)
		}
		return err
	})
	if native && !values.OfGo(arg.Expr, err) {
		if err != nil {
			return err
		}
		arg.Scope = api.EvalScope{GoroutineID: -1}
		s.gate.Lock()
		defer s.gate.Unlock()
		if err := s.delve.CreateWatchpoint(arg, out); err != nil {
			return fmt.Errorf("no watchpoint: Delve sets those by types of Go, which a program without Go lacks: %w", err)
		}
		return nil
	}
	return s.inFrame(&arg.Scope, func() error { return s.delve.CreateWatchpoint(arg, out) }, func(*clewFrame) error {
		return errNoWatch
	})
}

// goroutines is about a frame only if a filter names a channel by an expression.
func (s scopes) goroutines(arg rpc2.ListGoroutinesIn, out *rpc2.ListGoroutinesOut) error {
	list := func() error {
		if err := listBounded(s.delve, arg, out); err != nil {
			return s.listOwn(arg, out, err)
		}
		s.placeAll(out.Goroutines)
		return nil
	}
	if !slices.ContainsFunc(arg.Filters, func(f api.ListGoroutinesFilter) bool { return f.Kind == api.GoroutineWaitingOnChannel }) {
		arg.EvalScope = nil // no expression to evaluate
	}
	return s.inFrame(arg.EvalScope, list, func(*clewFrame) error { return errNoChannel })
}

// finder is a program whose native code clew knows.
type finder interface {
	LocateNative(loc string) ([]api.Location, error)
	WhereAt(addr uint64) breakpoints.Where
}

// locator is one in which clew places breakpoints.
type locator interface {
	finder
	BreakNative(api.Breakpoint, breakpoints.Where) (*api.Breakpoint, error)
	AdoptBreak(id int, where breakpoints.Where) (*api.Breakpoint, error)
	IsNativeBreak(id int) bool
	PrintAt(id int, p breakpoints.Prints)
	ShowBreaks(...*api.Breakpoint)
	ShowAtStop(...*api.Breakpoint)
	InThread(thread int, work func(*values.Frame) error) (native bool, err error)
	TellBreaks(func(breakpoints.Change)) (end func())
}

// inNative adds to what Delve has found the native code of a location. What Delve has found of native code does not count.
func (s scopes) inNative(arg rpc2.FindLocationIn, out *rpc2.FindLocationOut, failed error) error {
	d, ok := s.session.(finder)
	if !ok || !s.readable() || s.stacks.Read() != nil {
		return failed
	}
	found, err := d.LocateNative(arg.Loc)
	switch {
	case errors.Is(err, delve.ErrNotLoaded) && failed != nil && !arg.IncludeNonExecutableLines: // the client wants to set a breakpoint
		where := breakpoints.Parse(arg.Loc)
		out.Locations, out.SubstituteLocExpr = []api.Location{{File: where.File, Line: where.Line}}, breakpoints.Spelled(arg.Loc)
		return nil
	case errors.Is(err, held.ErrNoLocation):
		return failed
	case err != nil:
		return err
	}
	if _, several := breakpoints.Pattern(arg.Loc); several {
		isNative := func(l api.Location) bool { return !d.WhereAt(l.PC).None() }
		found = append(slices.DeleteFunc(out.Locations, isNative), found...)
	}
	out.Locations, out.SubstituteLocExpr = found, cmp.Or(breakpoints.Spelled(arg.Loc), out.SubstituteLocExpr)
	return nil
}

// findLocation finds a location relative to the frame's if the client asks for that.
func (s scopes) findLocation(arg rpc2.FindLocationIn, out *rpc2.FindLocationOut) error {
	byDelve := func() error {
		return s.inNative(arg, out, s.delve.FindLocation(arg, out))
	}
	return s.inFrame(&arg.Scope, byDelve, func(f *clewFrame) error {
		spec, err := locspec.Parse(arg.Loc)
		if err != nil {
			return err
		}
		switch spec := spec.(type) {
		case *locspec.OffsetLocationSpec:
			if spec.Offset == 0 {
				out.Locations = []api.Location{f.location()}
				return nil
			}
		case *locspec.LineLocationSpec, *locspec.AddrLocationSpec:
		default:
			arg.Scope.Frame = 0 // it is the same from every frame
			return byDelve()
		}
		return f.inserted(&arg.Scope, byDelve)
	})
}
