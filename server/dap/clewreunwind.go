package dap

import (
	"context"
	"errors"
	"slices"

	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/stop"
)

// reunwinder unwinds by other strategies.
type reunwinder struct {
	wire    *wire.Bridge
	program *program
	config  *config
}

// onReunwind answers clew/reunwind: a stack by other strategies than the
// configured ones, in the form of clew/stack. It is what `clew stack
// --strategies LIST` prints: Go's own tables serve Go's functions as ever, and
// where none of the strategies knows a caller, Delve's frame is a candidate and
// says that it is Delve's. The session goes on with its configured strategies:
// the frames have no IDs, and stackTrace returns what it did before.
func (r *reunwinder) onReunwind(ctx context.Context, m *dapwire.Message) {
	var want struct {
		page
		Strategies []string `json:"strategies"`
	}
	if err := m.Decode("arguments", &want); err != nil {
		r.wire.Client.Fail(m, argumentError(err))
		return
	}
	if len(want.Strategies) == 0 || slices.Contains(want.Strategies, "") {
		r.wire.Client.Fail(m, errors.New("strategies is missing: give a list of names, best first"))
		return
	}
	if !settle(ctx, r.wire, m) {
		return
	}
	var answer clewStack
	err := r.program.atStop(ctx, m.Seq, func(ctx context.Context, v *view) error {
		th, _, _, err := v.resolve(want.ThreadID)
		if err != nil {
			return err
		}
		other := r.config.wishes()
		other.Names, other.Only = want.Strategies, true
		prepared, err := r.program.prepareOther(ctx, v, other)
		if err != nil {
			return err
		}
		th.Claims = nil
		threads := []delve.Thread{th}
		start, end := want.frames()
		depth := 0
		if end < maxRows {
			depth = end
		}
		stacks := v.All(ctx, prepared, threads, stop.AllOptions{Depth: depth})
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		answer = stackPart(v.Arch(), &th, &stacks[0], start, end)
		return nil
	})
	if err != nil {
		r.wire.Client.Fail(m, err)
		return
	}
	r.wire.Client.Respond(m, &clewStackResponse{Body: answer})
}
