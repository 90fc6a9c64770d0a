package dap

import (
	"context"

	"github.com/clewdbg/clew/server/engine"
)

// program is the debugged program at its present stop, as requests use it.
type program interface {
	// own does a piece of work on the program in bounded time; see [Proxy.own].
	own(ctx context.Context, request int64, work func(context.Context, *view) error) error
	// ownPaced bounds the time from one call of getsOn to the next instead.
	ownPaced(ctx context.Context, request int64, work func(ctx context.Context, v *view, getsOn func()) error) error
	// open opens strategies. It is for the piece of work that is being done.
	open(StrategyConfig) (*opened, error)
	// prepare tells the configured strategies of the program's images, and prepareOther
	// others.
	prepare(context.Context, *view) error
	prepareOther(context.Context, *view, StrategyConfig) (*engine.Prepared, error)
}
