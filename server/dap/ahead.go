package dap

import (
	"context"
	"sync"
	"time"
)

// lookAhead does what an answer to a stackTrace request will need, where Delve has
// nothing else to do and the program is known to stand still. Delve's stack is
// walked at once, so that Delve finds it when it is asked; clew's own part is
// done while Delve writes its answer. Done waits for that, and has Delve forget
// the stack; it must be called before the next request is handled.
func (p *Proxy) lookAhead(ctx context.Context, request int64, want page) (done func()) {
	if _, stopped := p.state.at(); !stopped || !p.up.Idle() {
		return func() {}
	}
	var w walkAhead
	known := false
	frames := p.framesOf(want)
	if err := p.own(ctx, request, func(_ context.Context, v *view) error {
		w.walked(v.session.WalkAhead(want.ThreadID, min(frames, firstWalk)))
		known = v.has(want.ThreadID, frames)
		return nil
	}); err != nil {
		p.opts.Log("walk ahead: %v", err)
		return w.forget // also if it is still to come
	}
	if known {
		return w.forget
	}
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		p.lookAt(ctx, request, want)
	}()
	return func() {
		<-looked
		w.forget()
	}
}

// walkAhead is a stack that Delve was given ahead. It may come when nobody wants
// it any more.
type walkAhead struct {
	mu      sync.Mutex
	release func()
	over    bool
}

func (w *walkAhead) walked(release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		release()
	} else {
		w.release = release
	}
}

// forgetPatience bounds the wait for Delve's lock, which is free while the
// program stands still.
const forgetPatience = 2 * time.Second

func (w *walkAhead) forget() {
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
	case <-time.After(forgetPatience):
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
	if !ok || thread <= 0 {
		return false
	}
	key := keyOf(r.thread)
	if g := v.goStacks[key]; g != nil {
		return g.holds(frames)
	}
	a := v.stacks[key]
	return a != nil && a.claims && a.holds(frames)
}

// lookAt looks at a thread, for who will ask. Every stop does so for the thread
// that has stopped, while the client still reads of it.
func (p *Proxy) lookAt(ctx context.Context, request int64, want page) {
	err := p.own(ctx, request, func(ctx context.Context, v *view) error {
		th, _, known, err := v.resolve(want.ThreadID)
		if err != nil {
			return err
		}
		if frames := p.framesOf(want); v.goStackOf(ctx, th, frames) == nil {
			_, err = p.assemble(ctx, v, th, frames, known)
		}
		return err
	})
	if err != nil {
		p.opts.Log("look ahead: %v", err)
	}
}
