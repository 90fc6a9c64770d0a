package dap

import (
	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/lifeline"
)

// Guard acts if this process is killed: it kills a program that was launched, and mends
// and continues one that was attached to. It is a [lifeline.Line]. It is
// told of a launch elsewhere, before Delve has a process to name.
type Guard interface {
	// Restart announces that what was launched is about to be started again.
	Restart() error
	Attach(pid int) error
	Kill(pid int) error
	Continue(pid int, patches []lifeline.Patch) error
}

// programGuard tells the guard of the program of this session.
type programGuard struct {
	guard  Guard // may be nil
	target func() debuggee.Target
	state  *debuggee.State
	log    func(format string, args ...any)
}

// attaching is called before Delve attaches to a process.
func (g *programGuard) attaching(pid int) {
	if g.guard != nil && pid > 0 {
		g.note(g.guard.Attach(pid))
	}
}

// restarting is called before Delve starts the program again.
func (g *programGuard) restarting() {
	if g.guard != nil {
		g.note(g.guard.Restart())
	}
}

// started is called when Delve has the program, after a restart too.
func (g *programGuard) started() {
	s := g.target()
	if g.guard == nil || s == nil || !s.Live() {
		return
	}
	if s.Launched() {
		g.note(g.guard.Kill(s.Pid()))
		return
	}
	g.note(g.guard.Attach(s.Pid())) // found by name: Delve did not need its number
}

// resumes tells where breakpoints are, before the program runs on. A program that was
// launched ends with this process anyway.
func (g *programGuard) resumes() {
	s := g.target()
	if g.guard == nil || s == nil {
		return
	}
	if _, stopped := g.state.At(); stopped && s.Live() && !s.Launched() {
		planted, err := s.Planted()
		if err == nil {
			err = g.guard.Continue(s.Pid(), planted)
		}
		g.note(err)
	}
}

func (g *programGuard) note(err error) {
	if err != nil {
		g.log("guard: %v", err)
	}
}
