package dap

import (
	"context"
	"fmt"
	"io"
)

// A program behind a Delve server has other clients, who can let it run and
// change it without a word to this session. What was read of it counts only if
// it stands still all the while: every piece of work ends with the question
// whether it does, and a view that was kept from the request before is asked
// about first. Where it has moved, IDs of frames are void, as after a stop, and
// Delve's own answer goes out.

// reachRemote reaches the program, in the background: it may run already, and
// then nothing answers.
func (p *Proxy) reachRemote() {
	l := &p.look
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reached != nil {
		return
	}
	reached := make(chan struct{})
	l.reached = reached
	go func() {
		defer close(reached)
		target, process, err := p.opts.Remote(p.wire.Context())
		if err != nil {
			p.opts.Log("reach the program: %v", err)
			if p.wire.Context().Err() == nil {
				p.client.Console(fmt.Sprintf("clew: stacks and steps are Delve's own: %v", err))
			}
			return
		}
		process.FindDebugFiles(p.look.debugFolders)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.session, l.process = target, process
		if l.closed {
			l.closeRemote()
		}
	}()
}

// closeRemote is called with the lock held.
func (l *look) closeRemote() {
	if c, ok := l.session.(io.Closer); ok && l.reached != nil {
		_ = c.Close()
	}
}

// reach waits until the program is reached, or is known not to be.
func (l *look) reach(ctx context.Context) error {
	l.mu.Lock()
	reached := l.reached
	l.mu.Unlock()
	if reached == nil {
		return nil
	}
	select {
	case <-reached:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// still asks whether the program stands as a view has it. One that does not is of
// no use any more.
func (p *Proxy) still(v *view) error {
	err := v.live.Still()
	if err == nil {
		return nil
	}
	l := &p.look
	l.mu.Lock()
	if l.view == v {
		l.view = nil
		p.state.moves()
	}
	l.mu.Unlock()
	return err
}
