package frames

import (
	"context"
	"time"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/stop"
)

// prefetch does what an answer to a stackTrace request will need, where Delve has
// nothing else to do and the program is known to stand still. Delve's stack is
// walked at once, so that Delve finds it when it is asked; clew's own part is
// done while Delve writes its answer. Done waits for that, and has Delve forget
// the stack; it must be called before the next request is handled.
func (s *Stacks) prefetch(ctx context.Context, request int64, want Page) (done func()) {
	if _, stopped := s.program.State.At(); !stopped || !s.wire.Up.Idle() {
		return func() {}
	}
	walk := newDelveWalk()
	known := false
	frames := s.framesOf(want)
	if err := s.atStop(ctx, request, func(_ context.Context, v *view) error {
		walk.begin(v.Target.PrefetchStack(want.ThreadID, min(frames, stop.FirstClaims)))
		known = v.has(want.ThreadID, frames)
		return nil
	}); err != nil {
		s.wire.Log("prefetch: %v", err)
		return walk.end // also if it has not begun yet
	}
	if known {
		return walk.end
	}
	found := make(chan struct{})
	go func() {
		defer close(found)
		s.find(ctx, request, want)
	}()
	return func() {
		<-found
		walk.end()
	}
}

// own is the program's session where no other client can change the program: nil elsewhere.
func (s *Stacks) own() *delve.Session {
	own, _ := s.program.Target().(*delve.Session) // what is shared is another type
	return own
}

// Changes is called before a request that may change the program, or what the debugger shows of it.
func (s *Stacks) Changes() {
	if own := s.own(); own != nil {
		own.ForgetStack()
	}
}

// PrefetchStopped begins with the stack that the client will ask for. Behind a server it does not: who reads there while the program is resumed
// waits for its next stop.
func (s *Stacks) PrefetchStopped(stopped *dapwire.Message) {
	if own := s.own(); own != nil {
		own.KeepStack()
	}
	var body dap.StoppedEventBody
	if stopped.Decode("body", &body) == nil && body.ThreadId > 0 && s.program.Remote == nil && s.program.Target() != nil {
		go s.find(s.wire.Context(), 0, Page{ThreadID: int64(body.ThreadId), Levels: 1})
	}
}

// delveWalk is a stack that Delve has walked before it is asked for it. Work that
// was given up may begin it after its end.
type delveWalk struct {
	over  context.Context
	stop  func()
	walks chan chan struct{} // gets what is closed when Delve has forgotten the stack
}

func newDelveWalk() *delveWalk {
	over, stop := context.WithCancel(context.Background())
	return &delveWalk{over, stop, make(chan chan struct{}, 1)}
}

func (w *delveWalk) begin(release func()) {
	forgotten := make(chan struct{})
	context.AfterFunc(w.over, func() { defer close(forgotten); release() })
	w.walks <- forgotten
}

// releasePatience bounds the wait for Delve's lock, which is free while the
// program stands still.
const releasePatience = 2 * time.Second

func (w *delveWalk) end() {
	w.stop()
	select {
	case forgotten := <-w.walks:
		select {
		case <-forgotten:
		case <-time.After(releasePatience):
		}
	default:
	}
}

// walkBeside has Delve walk a stack in the background where it keeps it, for the answer to the client's request: clew's own
// walk of Go's stack goes on beside it; of others it asks Delve itself. The function that it returns waits for the end.
func (s *Stacks) walkBeside(thread int64, frames int) (wait func()) {
	own := s.own()
	if own == nil {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		own.PrefetchStack(thread, max(frames, shownAtOnce))() // where it is not kept, it is forgotten
	}()
	return func() { <-done }
}

// shownAtOnce is the number of frames that an editor asks for at a stop, in VS Code in two requests.
const shownAtOnce = 20

// has reports whether so many frames of a thread were found at this stop already.
func (v *view) has(thread int64, frames int) bool {
	th, ok := v.Resolved(thread)
	return ok && v.Found(stop.KeyOf(&th), v.Prepared, frames)
}

// find finds the stack of a thread before the client asks for it. Every stop does
// so for the thread that has stopped, while the client reads the event.
func (s *Stacks) find(ctx context.Context, request int64, want Page) {
	err := s.atStop(ctx, request, func(ctx context.Context, v *view) error {
		th, _, known, err := v.Resolve(want.ThreadID)
		if err != nil {
			return err
		}
		frames := s.framesOf(want)
		if v.InGo(&th) {
			defer s.walkBeside(want.ThreadID, frames)()
		}
		if st, err := v.Go(ctx, th, frames); err != nil || st != nil {
			return err
		}
		_, err = s.assemble(ctx, v, th, frames, known)
		return err
	})
	if err != nil {
		s.wire.Log("prefetch: %v", err)
	}
}
