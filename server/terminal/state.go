package terminal

import (
	"slices"
	"strings"

	"github.com/go-delve/delve/service"
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

// state improves the present state. While the program runs there is nothing to
// improve.
func (s *server) state(arg rpc2.StateIn, cb service.RPCCallback) {
	s.delve.State(arg, &callback{cb, func(out any, err error) (any, error) {
		result, ok := out.(rpc2.StateOut)
		if !ok || result.State == nil || result.State.Running || result.State.Exited || !s.gate.TryLock() {
			return out, err
		}
		defer s.gate.Unlock()
		if s.readable() {
			s.improve(result.State)
		}
		return result, err
	}})
}

// improve describes code that is not Go's, and corrects what Delve derives from its
// stacks by the assembled ones. The caller holds the gate.
func (s *server) improve(state *api.DebuggerState) {
	for _, th := range state.Threads {
		loc := s.describe(api.Location{PC: th.PC, File: th.File, Line: th.Line, Function: th.Function}, unwind.KindInstruction)
		th.File, th.Line, th.Function = loc.File, loc.Line, loc.Function
		if th.BreakpointInfo != nil && len(th.BreakpointInfo.Stacktrace) > 0 && th.Breakpoint != nil {
			s.improveStack(state, th)
		}
		if held := s.breaks.Load(); held != nil && th.Breakpoint != nil {
			(*held).ShowAtStop(th.Breakpoint)
			s.breakpointValues(*held, th)
		}
	}
	if g := state.SelectedGoroutine; g != nil {
		s.place(g)
	}
}

// describe returns the place of an instruction, or the caller's at a return address,
// in clew's words if the code is not Go's.
func (s *server) describe(loc api.Location, kind unwind.PCKind) api.Location {
	if loc.PC == 0 {
		return loc
	}
	f, err := s.stacks.Frame(unwind.Code(loc.PC, kind))
	if err != nil || f == nil || s.nameOf(f) == "" {
		return loc
	}
	return s.inWords(loc, f)
}

// improveStack puts the assembled stack into a breakpoint's information.
func (s *server) improveStack(state *api.DebuggerState, th *api.Thread) {
	id := th.GoroutineID
	if id == 0 {
		if state.CurrentThread == nil || state.CurrentThread.ID != th.ID || state.SelectedGoroutine != nil {
			return // Delve's interface has no way to ask for that stack
		}
	}
	frames, err := s.frames(&rpc2.StacktraceIn{Id: id, Depth: th.Breakpoint.Stacktrace})
	if err != nil {
		logFallback("a breakpoint's stack", err)
		return
	}
	th.BreakpointInfo.Stacktrace = frames
}

// placeAll corrects where goroutines are.
func (s *server) placeAll(goroutines []*api.Goroutine) {
	if !s.readable() {
		return
	}
	for _, g := range goroutines {
		s.place(g)
	}
}

// place corrects a goroutine's location in the user's code, and the words for native
// code. Delve takes that location from its own stack, where it may be past code that Delve cannot unwind: a frame
// that the assembled stack does not have. Only a goroutine on a thread can be in
// such code.
func (s *server) place(g *api.Goroutine) {
	if g.ThreadID == 0 || g.ID <= 0 || g.Unreadable != "" {
		return
	}
	stack, err := s.stacks.GoStack(g.ID, 1)
	if err != nil || stack != nil {
		return
	}
	if stack, err = s.stacks.Whole(g.ID, userDepth); err != nil {
		return
	}
	if !slices.ContainsFunc(stack.Frames, func(f unwind.Frame) bool { return f.PC.Raw() == g.UserCurrentLoc.PC }) {
		g.UserCurrentLoc = s.userLocation(stack, g.CurrentLoc)
	}
	kind := unwind.KindReturn
	if g.UserCurrentLoc.PC == g.CurrentLoc.PC {
		kind = unwind.KindInstruction
	}
	g.UserCurrentLoc, g.CurrentLoc = s.describe(g.UserCurrentLoc, kind), s.describe(g.CurrentLoc, unwind.KindInstruction)
}

// userDepth is the number of frames in which Delve searches the user's code.
const userDepth = 30

// userLocation returns the innermost frame outside the runtime's packages, which it
// tells by names as Delve does; otherwise is for a stack without one.
func (s *server) userLocation(stack *stop.Stack, otherwise api.Location) api.Location {
	for i := range stack.Frames {
		f := &stack.Frames[i]
		if f.Trust <= unwind.TrustScan {
			break
		}
		pkg, _, ok := strings.Cut(f.Function, ".")
		if !ok || pkg == "runtime" || pkg == "iter" || strings.HasPrefix(pkg, "internal/") || strings.HasPrefix(pkg, "runtime/internal") {
			continue
		}
		return s.inWords(api.Location{PC: f.PC.Raw()}, f)
	}
	return otherwise
}
