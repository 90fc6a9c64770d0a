package dap

import (
	"context"
	"sync"
	"time"

	"github.com/clewdbg/clew/server/stop"
)

// prefetch does what an answer to a stackTrace request will need, where Delve has
// nothing else to do and the program is known to stand still. Delve's stack is
// walked at once, so that Delve finds it when it is asked; clew's own part is
// done while Delve writes its answer. Done waits for that, and has Delve forget
// the stack; it must be called before the next request is handled.
func (p *Proxy) prefetch(ctx context.Context, request int64, want page) (done func()) {
	if _, stopped := p.state.at(); !stopped || !p.up.Idle() {
		return func() {}
	}
	var walked delveWalk
	known := false
	frames := p.framesOf(want)
	if err := p.program.atStop(ctx, request, func(_ context.Context, v *view) error {
		walked.begin(v.target.PrefetchStack(want.ThreadID, min(frames, stop.FirstClaims)))
		known = v.has(want.ThreadID, frames)
		return nil
	}); err != nil {
		p.opts.Log("prefetch: %v", err)
		return walked.end // also if it has not begun yet
	}
	if known {
		return walked.end
	}
	found := make(chan struct{})
	go func() {
		defer close(found)
		p.find(ctx, request, want)
	}()
	return func() {
		<-found
		walked.end()
	}
}

// delveWalk is a stack that Delve has walked before it is asked for it. Work that
// was given up may begin it after its end.
type delveWalk struct {
	mu      sync.Mutex
	release func()
	over    bool
}

func (w *delveWalk) begin(release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		release()
	} else {
		w.release = release
	}
}

// releasePatience bounds the wait for Delve's lock, which is free while the
// program stands still.
const releasePatience = 2 * time.Second

func (w *delveWalk) end() {
	w.mu.Lock()
	release := w.release
	w.over, w.release = true, nil
	w.mu.Unlock()
	if release == nil {
		return
	}
	done := make(chan struct{})
	go func() { defer close(done); release() }()
	select {
	case <-done:
	case <-time.After(releasePatience):
	}
}

// framesOf is the number of frames from the innermost one on that a page needs.
func (p *Proxy) framesOf(want page) int {
	levels := want.Levels
	if levels <= 0 {
		levels, _ = p.config.get()
	}
	start := max(want.StartFrame, 0)
	if start >= maxRows || levels > maxRows-start {
		return maxRows
	}
	return start + levels
}

// has says that so many frames of a thread were found at this stop already.
func (v *view) has(thread int64, frames int) bool {
	r, ok := v.known[thread]
	return ok && thread > 0 && v.Found(stop.KeyOf(&r.thread), v.prepared, frames)
}

// find finds the stack of a thread before the client asks for it. Every stop does
// so for the thread that has stopped, while the client still reads of it.
func (p *Proxy) find(ctx context.Context, request int64, want page) {
	err := p.program.atStop(ctx, request, func(ctx context.Context, v *view) error {
		th, _, known, err := v.resolve(want.ThreadID)
		if err != nil {
			return err
		}
		frames := p.framesOf(want)
		if st, err := v.Go(ctx, th, frames); err != nil || st != nil {
			return err
		}
		_, err = p.assemble(ctx, v, th, frames, known)
		return err
	})
	if err != nil {
		p.opts.Log("prefetch: %v", err)
	}
}
