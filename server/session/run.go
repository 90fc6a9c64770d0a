package session

import (
	"context"
	"sync"
	"time"
)

// Run is the time from a resume to the next stop that clients are told of.
type Run struct {
	session *Session
	client  *Client
	door    func(context.Context)
	wanted  bool          // a client wants it to halt
	began   bool          // others were told
	whole   bool          // a halt for work aside would end it
	over    chan struct{} // closed at its end
	halting chan struct{} // has an element while the door is used
}

// Resume begins a run, once no request reads the program any more. While the program runs already,
// the error says who has resumed it. Door halts the program the way that this client's protocol
// does; it may return before the program has stopped, may have no effect if it comes too early, and is used
// until the run ends.
func (c *Client) Resume(ctx context.Context, command string, steps bool, door func(context.Context)) (*Run, error) {
	s := c.session
	state := Running
	if steps {
		state = Stepping
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx, c, state, command); err != nil {
		return nil, err
	}
	c.running = true
	s.run = &Run{session: s, client: c, door: door, over: make(chan struct{}), halting: make(chan struct{}, 1)}
	return s.run, nil
}

// Began tells the others that the program runs: the command was accepted.
func (r *Run) Began() {
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == r && !r.began {
		r.began = true
		s.tell(r.client, Event{Kind: Continued, By: r.client.name})
	}
}

// KeepWhole has work aside wait for the run's end, and be refused if that does not come soon: Delve does not go on with a
// call that was halted.
func (r *Run) KeepWhole() {
	r.session.mu.Lock()
	defer r.session.mu.Unlock()
	r.whole = true
}

// Wanted says that a client wants the program to halt: a stop by hand without that is
// one for work aside, after which the program is to run on.
func (r *Run) Wanted() bool {
	r.session.mu.Lock()
	defer r.session.mu.Unlock()
	return r.wanted
}

// Over is closed when the run has ended.
func (r *Run) Over() <-chan struct{} { return r.over }

// Ended says that the run has ended.
func (r *Run) Ended() bool {
	select {
	case <-r.over:
		return true
	default:
		return false
	}
}

// Stopped ends the run with a stop.
func (r *Run) Stopped(stop Stop) { r.end(&Event{Kind: StoppedAt, Stop: &stop}) }

// Exited ends the run with the program's exit.
func (r *Run) Exited(code int) { r.end(&Event{Kind: Exited, ExitCode: code}) }

// Refused ends a run that Delve has refused. Where others were told of it, they are told of
// the stop.
func (r *Run) Refused() {
	r.session.mu.Lock()
	began := r.began
	r.session.mu.Unlock()
	if began {
		r.Stopped(Stop{Reason: "pause"})
		return
	}
	r.end(nil)
}

func (r *Run) end(e *Event) {
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != r {
		return
	}
	s.run = nil
	close(r.over)
	r.client.running = false
	if s.state == Running || s.state == Stepping {
		s.set(Stopped, nil, "")
	} else {
		s.wake()
	}
	if e != nil {
		e.By = r.client.name
		s.tell(r.client, *e)
	}
}

// Halt halts whatever runs, and returns when it has stopped. It is no error that nothing
// runs.
func (c *Client) Halt(ctx context.Context) error { return c.session.halt(ctx, func() {}) }

// halt halts whatever runs. Stopped is called with the lock held, before anything can be
// resumed again.
func (s *Session) halt(ctx context.Context, stopped func()) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s.mu.Lock()
	r := s.run
	if r == nil {
		defer s.mu.Unlock()
		stopped()
		return nil
	}
	r.wanted = true
	s.wake()
	s.halts++ // nothing is resumed before this halt is over: it would be halted, too
	s.mu.Unlock()
	var doors sync.WaitGroup
	err := r.knock(ctx, &doors)
	if err == nil {
		defer time.AfterFunc(askPatience, cancel).Stop() // Delve does not answer a halt that ends a download
		doors.Wait()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.halts--
	if err == nil {
		stopped()
	}
	s.wake()
	return err
}

// knock uses the run's door again and again until it has ended. Of several halts one does.
func (r *Run) knock(ctx context.Context, doors *sync.WaitGroup) error {
	again := time.NewTicker(haltAgain)
	defer again.Stop()
	mine := false
	defer func() {
		if mine {
			<-r.halting
		}
	}()
	for n := 0; !r.Ended(); n++ {
		if !mine {
			select {
			case r.halting <- struct{}{}:
				mine = true
			default:
			}
		}
		if mine {
			doors.Go(func() { r.door(ctx) })
			if insist := r.session.opts.Insist; insist != nil && n >= insistAfter {
				insist()
			}
		}
		select {
		case <-r.over:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-again.C:
		}
	}
	return nil
}

// Ask halts this run if it is the session's: a client does so for its own halt, which its protocol passes on.
// It returns at once; the door is used where that has had no effect soon. Answered is called when the
// client's own halt is over: until then Delve says of the stopped program that it runs.
func (r *Run) Ask() (answered func()) {
	s := r.session
	s.mu.Lock()
	r.wanted = true
	s.halts++
	s.wake()
	s.mu.Unlock()
	answered = sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.halts--
		s.wake()
	})
	go func() {
		select {
		case <-r.over:
		case <-time.After(haltAgain):
			s.mu.Lock()
			still := s.run == r
			s.mu.Unlock()
			if still {
				_ = s.halt(context.Background(), func() {}) // the client has its answer
			}
		}
		<-r.over
		time.AfterFunc(askPatience, answered) // Delve does not answer a halt that ends a download
	}()
	return answered
}

// AwaitHalt waits for the end of this client's run where a client wants it to halt: Delve has stopped the program before it says so.
func (c *Client) AwaitHalt(ctx context.Context) {
	s := c.session
	ctx, cancel := context.WithTimeout(ctx, endPatience)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.run
	if r == nil || r.client != c {
		return
	}
	_ = s.wait(ctx, func() (bool, error) { return !r.wanted || s.run != r, nil })
}

// Asides waits, after a halt for work aside, until that work is done: a program that runs on at once has
// to be halted again for each of its steps. It does not wait longer than a client that wants the program to halt.
func (r *Run) Asides(ctx context.Context) {
	s := r.session
	ctx, cancel := context.WithTimeout(ctx, asidePatience)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.wait(ctx, func() (bool, error) { return s.asides == 0 || r.wanted || s.run != r, nil })
}

// Aside does work that needs Delve's lock: at a stop at once, and during a run by halting Delve for a
// moment, again and again until the work is done. The work is refused while the program is restarted. Where the context ends before it is done, it goes on, and nobody
// is to use what it does.
func (c *Client) Aside(ctx context.Context, command string, work func()) error {
	s := c.session
	s.mu.Lock()
	late := time.Now().Add(wholePatience)
	again := time.AfterFunc(wholePatience, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.wake()
	})
	defer again.Stop()
	err := s.wait(ctx, func() (bool, error) {
		switch {
		case s.state == Changing:
			return false, nil
		case s.state == Restarting, s.state == Ending:
			return false, s.busy()
		case s.run != nil && s.run.whole:
			if time.Now().Before(late) {
				return false, nil
			}
			return false, s.busy()
		}
		if s.state != Stopped && s.opts.Nudge == nil {
			return false, s.busy()
		}
		return true, nil
	})
	if err != nil {
		s.mu.Unlock()
		return err
	}
	s.asides++
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.asides--
			s.wake()
		}()
		work()
	}()
	return s.nudgeUntil(ctx, done)
}

// Nudge is the door of a run that Delve's session cannot be asked to halt: Delve's debugger is.
func (s *Session) Nudge(context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil && s.opts.Nudge != nil {
		s.opts.Nudge()
	}
}

// Announce announces a halt of what runs, by [Options.Announce].
func (s *Session) Announce(ctx context.Context) (over func()) {
	s.mu.Lock()
	r := s.run
	s.mu.Unlock()
	if r == nil || s.opts.Announce == nil {
		return func() {}
	}
	ctx, cancel := context.WithTimeout(ctx, announcePatience)
	defer cancel()
	go func() {
		select {
		case <-r.over:
			cancel()
		case <-ctx.Done():
		}
	}()
	return s.opts.Announce(ctx)
}

// Nudges says that what runs can be halted for work aside.
func (s *Session) Nudges() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opts.Nudge != nil
}

// nudgeUntil lets work have Delve's lock while the program runs.
func (s *Session) nudgeUntil(ctx context.Context, done <-chan struct{}) error {
	again := time.NewTicker(nudgeAgain)
	defer again.Stop()
	for {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-again.C:
		}
		s.Nudge(context.Background())
	}
}
