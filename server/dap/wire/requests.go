package wire

import (
	"context"
	"fmt"
	"sync"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dapwire"
)

// requests are clew's own requests that the client waits for: those that are worked on
// and those whose turn has not come.
type requests struct {
	mu    sync.Mutex
	begun map[int64]begun // by the client's number
}

type begun struct {
	ctx context.Context
	end context.CancelCauseFunc
}

// begin makes the context that a request is worked on in.
func (r *requests) begin(ctx context.Context, seq int64) context.Context {
	ctx, end := context.WithCancelCause(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begun == nil {
		r.begun = make(map[int64]begun)
	}
	r.begun[seq] = begun{ctx, end}
	return ctx
}

// context returns what begin made.
func (r *requests) context(seq int64) (context.Context, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, ok := r.begun[seq]
	return b.ctx, ok
}

// done forgets a request.
func (r *requests) done(seq int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b, ok := r.begun[seq]; ok {
		b.end(nil)
		delete(r.begun, seq)
	}
}

// cancel ends the work for a request.
func (r *requests) cancel(seq int64, cause error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, ok := r.begun[seq]
	if ok {
		b.end(cause)
	}
	return ok
}

// cancelAll ends the work for every request.
func (r *requests) cancelAll(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.begun {
		b.end(cause)
	}
}

// cancelled returns the number of the request that a cancel request is about.
func cancelled(m *dapwire.Message) (seq int64, ok bool) {
	var args dap.CancelArguments
	if m.Decode("arguments", &args) != nil {
		return 0, false
	}
	seq = int64(args.RequestId)
	if args.ProgressId != "" {
		if _, err := fmt.Sscanf(args.ProgressId, progressID, &seq); err != nil {
			return 0, false
		}
	}
	return seq, true
}
