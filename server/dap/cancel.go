package dap

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/stop"
)

// ownPrefix begins the names of requests that are clew's own.
const ownPrefix = "clew/"

// ownRequests are clew's own requests that the client waits for: those that are
// worked on and those whose turn has not come.
type ownRequests struct {
	mu   sync.Mutex
	cuts map[int64]cut // by the client's number
}

type cut struct {
	ctx context.Context
	end context.CancelCauseFunc
}

// begin makes the context that a request is worked on in.
func (o *ownRequests) begin(ctx context.Context, seq int64) context.Context {
	ctx, end := context.WithCancelCause(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cuts == nil {
		o.cuts = make(map[int64]cut)
	}
	o.cuts[seq] = cut{ctx, end}
	return ctx
}

// context gives what begin made.
func (o *ownRequests) context(seq int64) (context.Context, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c, ok := o.cuts[seq]
	return c.ctx, ok
}

// done forgets a request.
func (o *ownRequests) done(seq int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c, ok := o.cuts[seq]; ok {
		c.end(nil)
		delete(o.cuts, seq)
	}
}

// cancel ends the work for a request.
func (o *ownRequests) cancel(seq int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	c, ok := o.cuts[seq]
	if ok {
		c.end(stop.ErrCancelled)
	}
	return ok
}

// cancelAll ends the work for every request.
func (o *ownRequests) cancelAll() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range o.cuts {
		c.end(stop.ErrCancelled)
	}
}

// hears looks at a request as soon as it has come, before its turn: it is told
// what is worth nothing any more. done is set where nothing is left to do.
func (p *Proxy) hears(m *dapwire.Message) (done bool) {
	switch {
	case m.Command == "cancel":
		return p.cancelOwn(m)
	case m.Command == "disconnect", m.Command == "terminate":
		p.requests.cancelAll() // it would wait for them
	case strings.HasPrefix(m.Command, ownPrefix):
		p.requests.begin(p.ctx, m.Seq)
	}
	return false
}

// cancelOwn ends what clew is doing for a request that the client no longer
// wants answered. Delve takes no such requests: the others pass and are refused.
func (p *Proxy) cancelOwn(m *dapwire.Message) bool {
	var args struct {
		RequestID  int64  `json:"requestId"`
		ProgressID string `json:"progressId"`
	}
	if m.Decode("arguments", &args) != nil {
		return false
	}
	if args.ProgressID != "" {
		if _, err := fmt.Sscanf(args.ProgressID, progressID, &args.RequestID); err != nil {
			return false
		}
	}
	if !p.requests.cancel(args.RequestID) && !p.program.stops.Cancel(args.RequestID) {
		return false
	}
	p.respond(m, nil)
	return true
}

// refuseOwn answers a request of clew's own that failed.
func (p *Proxy) refuseOwn(m *dapwire.Message, err error) {
	if errors.Is(err, stop.ErrCancelled) {
		p.refuse(m, errOwn, "cancelled", "as the client has asked") // the protocol's word
		return
	}
	p.refuse(m, errOwn, "Unable to process `"+m.Command+"`", err.Error())
}
