package session

// Kind is what an [Event] tells.
type Kind int

// The kinds of events.
const (
	// Continued: the program was resumed.
	Continued Kind = iota
	// StoppedAt: the program has stopped. It comes only after Continued.
	StoppedAt
	// Exited: the program has ended.
	Exited
	// Restarted: the program was started again, and stands at its beginning.
	Restarted
	// BreakpointChanged: a breakpoint was set, changed or removed.
	BreakpointChanged
	// Invalidated: what clients show of the stopped program may have changed.
	Invalidated
	// Terminated: the session ends.
	Terminated
)

// Event is something that another client has done, or caused.
type Event struct {
	Kind       Kind
	By         string // the client's name
	Stop       *Stop
	ExitCode   int
	Breakpoint *Breakpoint
	Areas      []string // of Invalidated, by the Debug Adapter Protocol's names
}

// Stop describes a stop, in the Debug Adapter Protocol's words.
type Stop struct {
	Reason, Description, Text string
	// Thread is the ID that editors know, 0 for none.
	Thread      int64
	Breakpoints []int
}

// Breakpoint describes one that another client has set, changed or removed.
type Breakpoint struct {
	Change string // new, changed or removed
	ID     int
	File   string // as the debugger knows it
	Line   int
}

// tell tells every client but one, which may be nil. The lock is held, so that events come in the order of
// the changes; a client must not wait when it is told.
func (s *Session) tell(but *Client, e Event) {
	for _, c := range s.clients {
		if c != but {
			c.tell(e)
		}
	}
}

// tell tells one client. A client that believes the program stopped learns that it ran
// before it learns of another stop.
func (c *Client) tell(e Event) {
	switch e.Kind {
	case Continued:
		if c.running {
			return
		}
		c.running = true
	case StoppedAt, Restarted:
		if !c.running {
			c.told(Event{Kind: Continued, By: e.By})
		}
		c.running = false
	case Exited, Terminated:
		c.running = false
	}
	c.told(e)
}
