package dap

import (
	"github.com/clewdbg/clew/server/lifeline"
)

// Guard sees to the program if this process is killed: kills what was launched,
// mends and continues what was attached to. It is a [lifeline.Line]. Of what is
// launched it learns elsewhere, before Delve has a process to name.
type Guard interface {
	// Restart announces that what was launched is about to be started again.
	Restart() error
	Attach(pid int) error
	Kill(pid int) error
	Continue(pid int, patches []lifeline.Patch) error
}

func (p *Proxy) guardAttach(args launchArguments) {
	if p.opts.Guard != nil && args.ProcessID > 0 {
		p.guarded(p.opts.Guard.Attach(args.ProcessID))
	}
}

// guardTarget is called when Delve has the program, after a restart too.
func (p *Proxy) guardTarget() {
	s := p.program.target()
	if p.opts.Guard == nil || s == nil || !s.Live() {
		return
	}
	if s.Launched() {
		p.guarded(p.opts.Guard.Kill(s.Pid()))
		return
	}
	p.guarded(p.opts.Guard.Attach(s.Pid())) // found by name: Delve did not need its number
}

// tellGuard tells where breakpoints are, before the program runs on. What the
// program was launched for ends with us anyway.
func (p *Proxy) tellGuard() {
	s := p.program.target()
	if p.opts.Guard == nil || s == nil {
		return
	}
	if _, stopped := p.state.at(); stopped && s.Live() && !s.Launched() {
		p.guarded(p.opts.Guard.Continue(s.Pid(), s.Planted()))
	}
}

func (p *Proxy) guarded(err error) {
	if err != nil {
		p.opts.Log("guard: %v", err)
	}
}
