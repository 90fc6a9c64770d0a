package dap

import (
	"context"
	"fmt"
	"sync"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/frames"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve/steps"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/server/stop"
)

// targets are the calls of a line that a step can go into.
type targets struct {
	wire    *wire.Bridge
	program *debuggee.Program
	frames  *frames.IDs

	mu    sync.Mutex
	at    stop.Moment // when they were listed
	calls []steps.Call
}

// caller is a target whose code is known.
type caller interface {
	Calls(pc, thread uint64, code stepping.Code) []steps.Call
}

// onStepInTargets lists the calls of the line that the innermost frame is at. Other frames have
// none: a step is always the innermost one's.
func (t *targets) onStepInTargets(ctx context.Context, m *dapwire.Message) error {
	var args dap.StepInTargetsArguments
	if err := m.Decode("arguments", &args); err != nil {
		return wire.ArgumentError(err)
	}
	if err := t.wire.Settle(ctx, m); err != nil {
		return err
	}
	body := dap.StepInTargetsResponseBody{Targets: []dap.StepInTarget{}}
	err := t.program.AtStop(ctx, m.Seq, func(_ context.Context, v *debuggee.View) error {
		ref, _, err := t.frames.Find(v.At, int64(args.FrameId))
		if err != nil {
			return err
		}
		if code, ok := v.Target.(caller); ok && ref.Innermost() {
			body.Targets = t.list(v.At, code.Calls(ref.PC(), ref.Thread().ID, stop.NativeOf(v, true)))
		}
		return nil
	})
	if err == nil {
		t.wire.Client.Respond(m, body)
	}
	return err
}

// list remembers the calls. Those of one function are told apart by a number.
func (t *targets) list(at stop.Moment, calls []steps.Call) []dap.StepInTarget {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at, t.calls = at, calls
	out, times := []dap.StepInTarget{}, make(map[string]int)
	for i := range calls {
		label := calls[i].Name
		if times[label]++; times[label] > 1 {
			label = fmt.Sprintf("%s (%d)", label, times[label])
		}
		out = append(out, dap.StepInTarget{Id: i + 1, Label: label})
	}
	return out
}

// call returns the address of the call that an ID stands for.
func (t *targets) call(at stop.Moment, id int) (pc uint64, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.at.Epoch != at.Epoch || id < 1 || id > len(t.calls) {
		return 0, &frames.StaleError{What: "call", ID: int64(id)}
	}
	return t.calls[id-1].PC, nil
}
