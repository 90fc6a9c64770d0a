package places

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/clewdbg/clew/integration/internal/inprocess"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/held"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/lifeline"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

// patience bounds one case.
const patience = 2 * time.Minute

// clew is clew's stepping, in this process: there can be one at a time.
type clew struct {
	session *delve.Session
	process *live.Process
	engine  *engine.Engine
	guard   *lifeline.Line
	ctx     context.Context
	cancel  context.CancelFunc
	// last is the latest decision.
	last stepping.Decision
}

// startClew runs the program under clew until main.ready.
func startClew(r *run) (debugger, error) {
	out, err := os.Create(r.stdout)
	if err != nil {
		return nil, err
	}
	guard, err := lifeline.Start(nil)
	if err != nil {
		return nil, err
	}
	if err := guard.Launch(r.program.path); err != nil {
		return nil, err
	}
	if err := os.Setenv("STEPS_LIBRARY", r.program.native); err != nil {
		return nil, err
	}
	c := &clew{guard: guard, engine: engine.New(inprocess.Strategies())}
	c.ctx, c.cancel = context.WithTimeout(context.Background(), patience)
	if c.session, err = delve.Launch(delve.LaunchConfig{Args: r.args(), Stdout: out, NoStdin: true}); err != nil {
		guard.Release()
		return nil, err
	}
	c.process = live.NewProcess(c.session)
	if err := guard.Kill(c.session.Pid()); err != nil {
		return nil, errors.Join(err, c.close())
	}
	if _, err := live.NewProcess(c.session).RunTo(c.ctx, nil, "main.ready"); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *clew) pid() int { return c.session.Pid() }

func (c *clew) breakAt(addrs ...uint64) error {
	for id := 1; id < 16; id++ {
		_ = c.session.ClearBreak(id) // those that there are
	}
	if len(addrs) == 0 {
		return nil
	}
	_, err := c.session.BreakAt(addrs...)
	return err
}

func (c *clew) resume() (state, error) { return c.state(c.session.Continue(c.ctx)) }

func (c *clew) step(command string) (state, error) {
	cmd := stepping.Next
	if command == stepOut {
		cmd = stepping.StepOut
	}
	stop, d, err := c.stepAs(cmd)
	c.last = d
	var no *stepping.RefusedError
	if errors.As(err, &no) {
		return state{}, &refusal{no.Reason}
	}
	if err != nil && d.Action == stepping.Delegate {
		return state{}, &refusal{err.Error()} // Delve's own
	}
	return c.state(stop, err)
}

// stepAs does a step of the thread that stopped the program, safely, and waits for
// its end. The error is a [*stepping.RefusedError] where no strategy knows enough
// for it; then nothing has run.
func (c *clew) stepAs(cmd stepping.Command) (held.Stop, stepping.Decision, error) {
	v, err := c.process.Read(false)
	if err != nil {
		return held.Stop{}, stepping.Decision{}, err
	}
	th, err := v.Current()
	if err != nil {
		return held.Stop{}, stepping.Decision{}, err
	}
	d := stop.PlanStep(c.ctx, v, c.engine.Prepare(c.ctx, &v.Input), th, cmd)
	at, err := perform(c.ctx, c.session, &d)
	return at, d, err
}

// perform does what was decided, and waits for its end. Nothing may have run
// since the decision.
func perform(ctx context.Context, s *delve.Session, d *stepping.Decision) (held.Stop, error) {
	if err := d.Err(); err != nil {
		return held.Stop{}, err
	}
	if d.Action == stepping.Delegate {
		return s.Step(ctx, d.Command)
	}
	if _, err := s.Arm(d); err != nil {
		return held.Stop{}, err
	}
	resume := s.Continue
	if d.Action == stepping.Assist {
		resume = func(ctx context.Context) (held.Stop, error) { return s.Step(ctx, d.Command) }
	}
	at, err := resume(ctx)
	return at, errors.Join(err, s.EndStep())
}

func (c *clew) state(stop held.Stop, err error) (state, error) {
	if err != nil {
		return state{}, err
	}
	if c.ctx.Err() != nil {
		return state{}, c.ctx.Err()
	}
	if stop.Reason == held.StopExited {
		return state{exited: true, status: stop.ExitStatus}, nil
	}
	v, err := c.process.Read(false)
	if err != nil {
		return state{}, err
	}
	th, err := v.Current()
	if err != nil {
		return state{}, err
	}
	s := state{thread: th.ID, why: string(stop.Reason)}
	arch := c.session.Arch()
	s.pc, _ = th.Registers.PC(arch)
	s.sp, _ = th.Registers.SP(arch)
	s.lr, _ = th.Registers.Get(unwind.ARM64LR)
	for _, seg := range th.Segments {
		if seg.Kind == unwind.SegmentGoroutine {
			s.high = seg.High
		}
	}
	return s, nil
}

func (c *clew) word(addr uint64) (uint64, error) {
	return unwind.ReadWord(c.session.Memory(), addr, 8, c.session.Arch().ByteOrder())
}

func (c *clew) close() error {
	err := c.session.Close()
	c.guard.Release()
	c.cancel()
	if err != nil {
		return fmt.Errorf("leave the program: %w", err)
	}
	return nil
}
