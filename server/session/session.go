package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Options are what a session needs of its debugger.
type Options struct {
	// Nudge has Delve halt the running program for a moment, so that requests that wait for
	// Delve's lock get it. It may come too late, and is repeated. Nil where the debugger is out of reach.
	Nudge func()
	// Announce is called before a client's protocol passes on a request for which Delve's session halts the running
	// program. It waits until that can be done, or the context ends. Over is called with the answer. Nil
	// where the debugger is out of reach.
	Announce func(context.Context) (over func())
	// Insist halts what runs by a way that is no client's, once the door of the client that has resumed it has had no effect: Delve reads
	// nothing more from that client until the program runs, and waits for it to run where a thread steps over a system call. It must not wait. Nil
	// where doors do not depend on that.
	Insist func()
}

// Session is the state of a debug session. Its methods are safe for concurrent use.
type Session struct {
	opts Options
	// Breakpoints are those of every client.
	Breakpoints Breakpoints

	mu      sync.Mutex
	changed chan struct{} // closed when something changes that others wait for
	state   State
	by      *Client // has caused the state; nil where no client has
	command string
	run     *Run
	halts   int  // that are under way
	asides  int  // pieces of work aside
	ending  bool // a client, or the server, ends the session
	// entering counts commands that wait for requests that read the program: no client begins to read.
	entering int
	clients  []*Client
	joined   map[string]int // by kind
}

// New returns the session of a stopped program.
func New(opts Options) *Session {
	return &Session{opts: opts, changed: make(chan struct{}), joined: make(map[string]int)}
}

// SetNudge sets [Options.Nudge], where the debugger is known later.
func (s *Session) SetNudge(nudge func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts.Nudge = nudge
}

// Client is one connection.
type Client struct {
	session *Session
	name    string
	told    func(Event)
	running bool           // it believes that the program runs
	reads   map[string]int // its leases, by request
}

// Join adds a client of that kind ("editor"). Told is called with what others do. It must
// neither wait nor call the session.
func (s *Session) Join(kind string, told func(Event)) *Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.joined[kind]++
	c := &Client{session: s, name: fmt.Sprintf("%s %d", kind, s.joined[kind]), told: told, reads: make(map[string]int)}
	c.running = s.state == Running || s.state == Stepping
	s.clients = append(s.clients, c)
	return c
}

// Describe adds what the client says of itself to its name.
func (c *Client) Describe(what string) {
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	c.name = fmt.Sprintf("%s (%s)", c.name, what)
}

// Leave removes a client. A run of its goes on, and its door stays in use.
func (c *Client) Leave() {
	s := c.session
	s.Breakpoints.forget(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients = slices.DeleteFunc(s.clients, func(other *Client) bool { return other == c })
}

// State returns what the program does, and whether this client has caused it.
func (c *Client) State() (state State, own bool) {
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, s.by == c
}

// Tell tells the other clients.
func (c *Client) Tell(e Event) {
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	e.By = c.name
	c.session.tell(c, e)
}

// Alone says that there is no other client.
func (c *Client) Alone() bool {
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	return !slices.ContainsFunc(c.session.clients, func(other *Client) bool { return other != c })
}

// busy returns the error of a request that this state refuses. The lock is held.
func (s *Session) busy() error {
	e := &BusyError{State: s.state, Command: s.command}
	if s.by != nil {
		e.By = s.by.name
	}
	return e
}

// set changes the state. The lock is held.
func (s *Session) set(state State, by *Client, command string) {
	s.state, s.by, s.command = state, by, command
	s.wake()
}

// wake has those look again who wait. The lock is held.
func (s *Session) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// wait waits, with the lock held before and after, until ready returns true or an error.
func (s *Session) wait(ctx context.Context, ready func() (bool, error)) error {
	for {
		if ok, err := ready(); ok || err != nil {
			return err
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		s.mu.Lock()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// Use holds the program at its stop, so that a request can read it, until done is called. It
// is refused at once while the program runs. It waits for halts that have stopped it.
func (c *Client) Use(ctx context.Context, request string) (done func(), err error) {
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.wait(ctx, func() (bool, error) {
		switch s.state {
		case Stopped:
			if s.halts > 0 {
				return false, nil // Delve says that the program runs until the halt is answered
			}
			return s.entering == 0 || len(c.reads) > 0, nil // else a client that always reads would keep the others from their turn
		case Changing:
			return false, nil
		}
		return false, s.busy()
	})
	if err != nil {
		return nil, err
	}
	c.reads[request]++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if c.reads[request]--; c.reads[request] == 0 {
			delete(c.reads, request)
		}
		s.wake()
	}), nil
}

// reader returns the name and a request of a client that reads the program. The lock is held.
func (s *Session) reader() *ReadError {
	for _, c := range s.clients {
		for request := range c.reads {
			return &ReadError{By: c.name, Request: request}
		}
	}
	return nil
}

// enter changes to a state that needs the stopped program for itself. It waits for requests
// that read the program. The lock is held.
func (s *Session) enter(ctx context.Context, c *Client, state State, command string) error {
	ctx, cancel := context.WithTimeout(ctx, readPatience)
	defer cancel()
	s.entering++
	defer func() {
		s.entering--
		s.wake()
	}()
	err := s.wait(ctx, func() (bool, error) {
		switch s.state {
		case Stopped:
			return s.halts == 0 && s.asides == 0 && s.reader() == nil, nil
		case Changing:
			return false, nil
		}
		return false, s.busy()
	})
	if reader := s.reader(); errors.Is(err, context.DeadlineExceeded) && reader != nil {
		return reader
	}
	if err == nil {
		s.set(state, c, command)
	}
	return err
}

// leave ends what enter began. The lock is not held.
func (s *Session) leave(state State, c *Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == state && s.by == c {
		s.set(Stopped, nil, "")
	}
}

// Change holds the stopped program alone until done is called: for what other requests must
// not see half done.
func (c *Client) Change(ctx context.Context, command string) (done func(), err error) {
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx, c, Changing, command); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { s.leave(Changing, c) }), nil
}

// Restart holds the program while it is started again. It halts it before. Done is called
// with the outcome; others are told where the program was started.
func (c *Client) Restart(ctx context.Context) (done func(started bool), err error) {
	s := c.session
	for {
		if err := c.Halt(ctx); err != nil {
			return nil, err
		}
		s.mu.Lock()
		err := s.enter(ctx, c, Restarting, "restart")
		s.mu.Unlock()
		if busy := new(BusyError); errors.As(err, &busy) && busy.State != Restarting && busy.State != Ending {
			continue // another client was faster
		}
		if err != nil {
			return nil, err
		}
		break
	}
	var once sync.Once
	return func(started bool) {
		once.Do(func() {
			s.leave(Restarting, c)
			if started {
				c.Tell(Event{Kind: Restarted})
			}
		})
	}, nil
}

// End halts the program and tells every other client that the session ends. Nothing is resumed or
// read any more. By is nil where no client ends it. It does not wait for requests that
// read the program. Where the session ends already, it waits until the program has stopped, and says who ends it.
func (s *Session) End(ctx context.Context, by *Client, command string) error {
	s.mu.Lock()
	if s.ending {
		defer s.mu.Unlock()
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if err := s.wait(ctx, func() (bool, error) { return s.state == Ending && s.run == nil, nil }); err != nil {
			return err
		}
		return s.busy()
	}
	s.ending = true
	s.mu.Unlock()
	err := s.halt(ctx, func() { s.set(Ending, by, command) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != Ending {
		s.set(Ending, by, command)
	}
	name := ""
	if by != nil {
		name = by.name
	}
	s.tell(by, Event{Kind: Terminated, By: name})
	return err
}

// WaitStopped waits until the program does not run, and no halt is under way.
func (s *Session) WaitStopped(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wait(ctx, func() (bool, error) { return s.run == nil && s.halts == 0 && s.state != Restarting, nil })
}

// patience bounds a halt.
const patience = 10 * time.Second
