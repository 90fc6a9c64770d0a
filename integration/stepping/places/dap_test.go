//go:build linux && amd64

package places

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/clewdbg/clew/integration/internal/inprocess"
	"github.com/clewdbg/clew/server/dapwire/dapwiretest"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

// protocol is a client of Delve's own DAP session in this process.
type protocol struct {
	*dapwiretest.Client
	t   *testing.T
	dap *delve.DAP
}

func dial(t *testing.T) *protocol {
	t.Helper()
	d, err := delve.StartDAP(delve.DAPConfig{Backend: "default"})
	if err != nil {
		t.Fatal(err)
	}
	c := &protocol{dapwiretest.NewClient(d.Conn()), t, d}
	c.Patience = patience
	t.Cleanup(func() {
		d.Close()
		_ = c.Close()
	})
	return c
}

// send sends a request, which must succeed.
func (c *protocol) send(command string, arguments any) {
	c.t.Helper()
	if err := c.Ask(command, arguments, nil); err != nil {
		c.t.Fatal(err)
	}
}

// wait waits for an event.
func (c *protocol) wait(event string) {
	c.t.Helper()
	if _, err := c.Event(event); err != nil {
		c.t.Fatal(err)
	}
}

// stopped waits for a stop and returns its reason.
func (c *protocol) stopped() string {
	c.t.Helper()
	_, reason, err := c.Stopped()
	if err != nil {
		c.t.Fatal(err)
	}
	return reason
}

// TestDAP has an editor's requests for steps done by Delve's own DAP session: a
// continue becomes a step out, and a next gets a return breakpoint that is right.
// Delve calls the end of both a step.
func TestDAP(t *testing.T) {
	p := need(t, "linked-g-called-by-notables")
	dir := t.TempDir()
	r := &run{program: p, scenario: "plain", record: filepath.Join(dir, "record")}
	c := dial(t)
	c.send("initialize", map[string]any{"adapterID": "go", "linesStartAt1": true, "pathFormat": "path"})
	c.send("launch", map[string]any{
		"mode": "exec", "program": p.path, "args": r.args()[1:], "cwd": dir, "env": map[string]string{"STEPS_LIBRARY": p.native},
	})
	c.wait("initialized")
	c.send("setFunctionBreakpoints", map[string]any{"breakpoints": []map[string]string{{"name": "main.ready"}}})
	c.send("configurationDone", nil)
	if why := c.stopped(); why != "function breakpoint" {
		t.Fatalf("stopped for %q", why)
	}
	session := c.dap.Session()
	process, strategies := live.NewProcess(session), engine.New(inprocess.Strategies())
	bias, err := p.bias(session.Pid())
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := session.BreakAt(p.spots["leaf"] + bias)
	if err != nil {
		t.Fatal(err)
	}
	c.send("continue", map[string]any{"threadId": 1})
	if why := c.stopped(); why != "breakpoint" {
		t.Fatalf("stopped for %q", why)
	}
	if err := session.ClearBreak(leaf); err != nil {
		t.Fatal(err)
	}

	// One step as a proxy does it.
	step := func(cmd stepping.Command) (s state, action stepping.Action) {
		t.Helper()
		v, err := process.Read(false)
		if err != nil {
			t.Fatal(err)
		}
		th, err := v.Current()
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		d := stop.PlanStep(ctx, v, strategies.Prepare(ctx, &v.Input), th, cmd)
		request := cmd.String()
		switch d.Action {
		case stepping.Refuse:
			t.Fatal(d.Err())
		case stepping.Return:
			request = "continue"
			fallthrough
		case stepping.Assist:
			if _, err := session.Arm(&d); err != nil {
				t.Fatal(err)
			}
		}
		c.send(request, map[string]any{"threadId": th.Goroutine})
		if why := c.stopped(); why != "step" {
			t.Errorf("%s as %s (%s): stopped for %q", cmd, request, d.Reason, why)
		}
		if err := session.EndStep(); err != nil {
			t.Error(err)
		}
		if v, err = process.Read(false); err != nil {
			t.Fatal(err)
		}
		if th, err = v.Current(); err != nil {
			t.Fatal(err)
		}
		s.pc, _ = th.Registers.PC(unwind.AMD64)
		s.sp, _ = th.Registers.SP(unwind.AMD64)
		return s, d.Action
	}
	returned := 0
	want, err := r.recorded("leaf")
	if err != nil {
		t.Fatal(err)
	}
	var s state
	for range most {
		var action stepping.Action
		if s, action = step(stepping.Next); action == stepping.Return {
			returned++
		}
		if want.reached(&s, false) {
			break
		}
	}
	if !want.reached(&s, false) || returned == 0 {
		t.Errorf("next came to %#x, sp %#x, not to %+v; %d steps with clew's breakpoint", s.pc, s.sp, want, returned)
	}
	if want, err = r.recorded("middle"); err != nil {
		t.Fatal(err)
	}
	if s, action := step(stepping.StepOut); !want.reached(&s, false) || action != stepping.Return {
		t.Errorf("stepOut (%s) came to %#x, sp %#x, not to %+v", action, s.pc, s.sp, want)
	}
	c.send("continue", map[string]any{"threadId": 1})
	c.wait("terminated")
}
