package dapwiretest

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/clewdbg/clew/server/dapwire"
)

// A Client plays an editor over a connection. It is for one goroutine, but for Send, which is for any. What comes is
// always read: a peer that writes without being asked does not wait.
type Client struct {
	// Patience is how long a message is waited for; 0 is for ever.
	Patience time.Duration
	// Seen, if set, is called with every message, in order, when Read returns it.
	Seen func(*dapwire.Message)

	conn   io.ReadWriteCloser
	in     chan *dapwire.Message
	ended  error              // why in is closed
	unread []*dapwire.Message // that Read has returned, and nobody has waited for

	mu  sync.Mutex
	seq int64
}

// Errors of Read, but for those of the connection.
var (
	ErrSilent    = errors.New("no message comes")
	ErrMalformed = errors.New("malformed message")
)

// NewClient returns a client of the peer at the other end of a connection.
func NewClient(conn io.ReadWriteCloser) *Client {
	c := &Client{conn: conn, in: make(chan *dapwire.Message, 1024)}
	go func() {
		defer close(c.in)
		for r := dapwire.NewReader(conn, 0); ; {
			content, err := r.Read()
			if err != nil {
				c.ended = err
				return
			}
			m, err := dapwire.Parse(content)
			if err != nil {
				c.ended = fmt.Errorf("%w: %w: %.200s", ErrMalformed, err, content)
				return
			}
			c.in <- m
		}
	}()
	return c
}

// Close closes the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Send sends a request, and returns its number.
func (c *Client) Send(command string, arguments any) (int64, error) {
	m, err := Request(command, arguments)
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	m.SetSeq(c.seq)
	if err := dapwire.Write(c.conn, m.Bytes()); err != nil {
		return 0, fmt.Errorf("send %s: %w", command, err)
	}
	return c.seq, nil
}

// Read returns the next message. Where the connection has ended the error is not nil.
func (c *Client) Read() (*dapwire.Message, error) {
	var late <-chan time.Time
	if c.Patience > 0 {
		late = time.After(c.Patience)
	}
	select {
	case m, ok := <-c.in:
		if !ok {
			return nil, c.ended
		}
		if c.Seen != nil {
			c.Seen(m)
		}
		return m, nil
	case <-late:
		return nil, fmt.Errorf("%w in %v", ErrSilent, c.Patience)
	}
}

// Until returns the first message that is not waited for yet and for which is holds. Messages before it are left out.
func (c *Client) Until(is func(*dapwire.Message) bool) (*dapwire.Message, error) {
	for len(c.unread) > 0 {
		m := c.unread[0]
		if c.unread = c.unread[1:]; is(m) {
			return m, nil
		}
	}
	for {
		if m, err := c.Read(); err != nil || is(m) {
			return m, err
		}
	}
}

// Event waits for one of the events.
func (c *Client) Event(names ...string) (*dapwire.Message, error) {
	m, err := c.Until(func(m *dapwire.Message) bool { return m.Type == dapwire.TypeEvent && slices.Contains(names, m.Event) })
	if err != nil {
		return nil, fmt.Errorf("event %q: %w", names, err)
	}
	return m, nil
}

// Find waits for a message. What comes before it can still be waited for.
func (c *Client) Find(is func(*dapwire.Message) bool) (*dapwire.Message, error) {
	if i := slices.IndexFunc(c.unread, is); i >= 0 {
		m := c.unread[i]
		c.unread = slices.Delete(c.unread, i, i+1)
		return m, nil
	}
	for {
		m, err := c.Read()
		if err != nil || is(m) {
			return m, err
		}
		c.unread = append(c.unread, m)
	}
}

// Response is Find, for the response to a request.
func (c *Client) Response(seq int64) (*dapwire.Message, error) {
	return c.Find(func(m *dapwire.Message) bool { return m.Type == dapwire.TypeResponse && m.RequestSeq == seq })
}

// Request sends a request and waits for its response, which may be a refusal.
func (c *Client) Request(command string, arguments any) (*dapwire.Message, error) {
	seq, err := c.Send(command, arguments)
	if err != nil {
		return nil, err
	}
	m, err := c.Response(seq)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", command, err)
	}
	return m, nil
}

// Ask is Request, for a response that must not be a refusal. Its body is decoded, unless that is nil.
func (c *Client) Ask(command string, arguments, body any) error {
	m, err := c.Request(command, arguments)
	switch {
	case err != nil:
		return err
	case !m.Success:
		return &RefusedError{Command: command, Text: m.Text("message"), Answer: m.Bytes()}
	case body == nil:
		return nil
	}
	if err := m.Decode("body", body); err != nil {
		return fmt.Errorf("body of %.300s: %w", m.Bytes(), err)
	}
	return nil
}

// A RefusedError is a response without success.
type RefusedError struct {
	Command, Text string
	Answer        []byte
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s: %s: %.300s", e.Command, e.Text, e.Answer)
}

// Stopped waits for the next stop, and returns its thread and its reason. Where the program ends instead, the reason
// is "terminated".
func (c *Client) Stopped() (thread int, reason string, err error) {
	m, err := c.Event("stopped", "terminated")
	if err != nil || m.Event == "terminated" {
		return 0, "terminated", err
	}
	var body struct {
		ThreadID int
		Reason   string
	}
	err = m.Decode("body", &body)
	return body.ThreadID, body.Reason, err
}
