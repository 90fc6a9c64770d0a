package dap

import (
	"context"
	"time"

	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/stepping"
)

// steps are the requests that rest on the stack. A step back is the recording's.
var steps = map[string]stepping.Command{"next": stepping.Next, "stepIn": stepping.StepIn, "stepOut": stepping.StepOut}

// onStep checks a step before Delve does it: Delve places a breakpoint at what it
// believes to be the caller, and lets the program run.
func (p *Proxy) onStep(ctx context.Context, m *dapwire.Message) {
	var args struct {
		ThreadID    int64  `json:"threadId"`
		Granularity string `json:"granularity"`
	}
	if m.Decode("arguments", &args) != nil {
		p.pass(m, nil)
		return
	}
	if tid, ok := ownThread(args.ThreadID); ok {
		// For Delve a thread without a goroutine can step only while it is the
		// current one.
		if err := p.atStop(ctx, m.Seq, func(_ context.Context, v *view) error { return v.target.SelectThread(tid) }); err != nil {
			p.refuse(m, errStep, "Unable to step", err.Error())
			return
		}
		p.mapThread(m)
	}
	command, ok := steps[m.Command]
	if s := p.program.target(); s != nil && !s.Live() {
		ok = false // a core file or a recording: nothing is written into it
	}
	if !ok || args.Granularity == "instruction" {
		p.resume(m, nil)
		return
	}
	var session Target
	d := stepping.Decision{Action: stepping.Delegate}
	if err := p.atStop(ctx, m.Seq, func(ctx context.Context, v *view) (err error) {
		session = v.target
		d, err = p.plan(ctx, v, args.ThreadID, command)
		return err
	}); err != nil {
		p.opts.Log("%s: %v", m.Command, err)
		p.resume(m, nil) // as Delve would by itself
		return
	}
	p.perform(m, session, &d, args.ThreadID)
}

// plan decides how to step.
func (p *Proxy) plan(ctx context.Context, v *view, thread int64, c stepping.Command) (d stepping.Decision, err error) {
	th, _, _, err := v.resolve(thread)
	if err != nil {
		return d, err
	}
	return v.Plan(ctx, th, c, func(ctx context.Context) (*engine.Prepared, error) {
		err := p.prepare(ctx, v)
		return v.prepared, err
	})
}

// perform does a step as it was decided.
func (p *Proxy) perform(m *dapwire.Message, s Target, d *stepping.Decision, thread int64) {
	if err := d.Err(); err != nil {
		p.refuse(m, errStep, "Unable to step", err.Error())
		return
	}
	if d.Action == stepping.Delegate {
		p.resume(m, nil)
		return
	}
	if err := s.Arm(d.Caller); err != nil {
		p.refuse(m, errStep, "Unable to step", err.Error())
		return
	}
	p.armed.Store(&s)
	command := m.Command
	if d.Action == stepping.Return {
		// A plain continue, which for the client is the step that it asked for.
		p.event("continued", map[string]any{"threadId": thread, "allThreadsContinued": true})
		m.Set("command", []byte(`"continue"`))
	}
	p.resume(m, func(answer *dapwire.Message) {
		if answer.Text("command") != command {
			answer.Set("command", []byte(`"`+command+`"`))
			answer.Set("body", []byte("{}"))
		}
		if !answer.Success {
			p.endStep()
		}
	})
}

// endPatience bounds the clearing of a step's breakpoint; events wait for it.
const endPatience = 2 * time.Second

// endStep forgets a step that is not finished. It is called at every stop.
func (p *Proxy) endStep() {
	s := p.armed.Swap(nil)
	if s == nil {
		return
	}
	done := make(chan error, 1)
	go func() { done <- (*s).EndStep() }()
	select {
	case err := <-done:
		if err != nil {
			p.event("output", map[string]string{"category": "important", "output": "clew: " + err.Error() + "\n"})
		}
	case <-time.After(endPatience):
		p.opts.Log("a step's breakpoint is not cleared: the program runs")
	}
}
