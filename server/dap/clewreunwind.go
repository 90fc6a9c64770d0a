package dap

import (
	"context"
	"errors"
	"slices"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/frames"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/stop"
)

// reunwinder unwinds by other strategies.
type reunwinder struct {
	wire    *wire.Bridge
	program *debuggee.Program
}

// onReunwind answers clew/reunwind: a stack by other strategies than the
// configured ones, in the form of clew/stack. It is what `clew stack
// --strategies LIST` prints: Go's own tables serve Go's functions as ever, and
// where none of the strategies knows a caller, Delve's frame is a candidate and
// says that it is Delve's. The session goes on with its configured strategies:
// the frames have no IDs, and stackTrace returns what it did before.
func (r *reunwinder) onReunwind(ctx context.Context, m *dapwire.Message) error {
	var want struct {
		frames.Page
		Strategies []string `json:"strategies"`
	}
	if err := m.Decode("arguments", &want); err != nil {
		return wire.ArgumentError(err)
	}
	if len(want.Strategies) == 0 || slices.Contains(want.Strategies, "") {
		return errors.New("strategies is missing: give a list of names, best first")
	}
	if err := r.wire.Settle(ctx, m); err != nil {
		return err
	}
	var answer frames.StackBody
	err := r.program.AtStop(ctx, m.Seq, func(ctx context.Context, v *debuggee.View) error {
		th, _, _, err := v.Resolve(want.ThreadID)
		if err != nil {
			return err
		}
		other := r.program.Config.Get().Strategies
		other.Names, other.Only = want.Strategies, true
		prepared, err := r.program.PrepareAt(ctx, v.Stopped, other)
		if err != nil {
			return err
		}
		th.Claims = nil
		threads := []reading.Thread{th}
		start, end := want.Frames()
		depth := 0
		if end < frames.MaxRows {
			depth = end
		}
		stacks := v.All(ctx, prepared, threads, stop.AllOptions{Depth: depth})
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		answer = frames.PartOf(v.Arch(), &th, &stacks[0], start, end)
		return nil
	})
	if err == nil {
		r.wire.Client.Respond(m, answer)
	}
	return err
}
