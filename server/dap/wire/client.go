package wire

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dapwire"
)

// Client is the connection to the editor: it numbers what is sent.
type Client struct {
	log       func(format string, args ...any)
	cancelled error // see [Options.Cancelled]

	mu  sync.Mutex
	out *outbox
	seq int64
	// reverse are the requests of Delve's that the client has not answered: Delve's
	// numbers by ours.
	reverse map[int64]int64
	// unanswered are the client's requests without an answer, with their commands. Nil
	// where they are not needed.
	unanswered map[int64]string
}

// Send sends a message, and waits where the client does not take earlier ones. A client that
// is gone is noticed where its messages are read.
func (c *Client) Send(m *dapwire.Message) {
	c.post(m, false)
	c.out.room()
}

// post sends a message without waiting for the client.
func (c *Client) post(m *dapwire.Message, bounded bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	if m.Type == dapwire.TypeRequest {
		if c.reverse == nil {
			c.reverse = make(map[int64]int64)
		}
		c.reverse[c.seq] = m.Seq
	}
	if m.Type == dapwire.TypeResponse {
		delete(c.unanswered, m.RequestSeq)
	}
	m.SetSeq(c.seq)
	c.out.put(m.Bytes(), bounded)
}

// renumber puts the number of Delve's request into the client's answer.
func (c *Client) renumber(m *dapwire.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if seq, ok := c.reverse[m.RequestSeq]; ok {
		delete(c.reverse, m.RequestSeq)
		m.SetRequestSeq(seq)
	}
}

// await notes a request that the client expects an answer to.
func (c *Client) await(m *dapwire.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unanswered != nil && m.Type == dapwire.TypeRequest {
		c.unanswered[m.Seq] = m.Command
	}
}

// waiting returns the requests that the client expects an answer to, as far as an error
// needs them.
func (c *Client) waiting() (out []*dapwire.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, seq := range slices.Sorted(maps.Keys(c.unanswered)) {
		out = append(out, &dapwire.Message{Seq: seq, Command: c.unanswered[seq]})
	}
	return out
}

// Respond answers a request; the body may be nil.
func (c *Client) Respond(request *dapwire.Message, body any) {
	m, err := dapwire.NewResponse(request, body)
	c.sendNew(m, err)
}

// Refuse answers a request with an error.
func (c *Client) Refuse(request *dapwire.Message, id int, message, details string) {
	m, err := dapwire.NewError(request, id, message, details)
	c.sendNew(m, err)
}

// Fail answers a request that has failed.
func (c *Client) Fail(m *dapwire.Message, err error) {
	f, details, own := failureOf(m.Command), err.Error(), new(Refusal)
	switch {
	case errors.Is(err, c.cancelled):
		f, details = failure{Failed, "cancelled"}, "as the client has asked" // the protocol's word
	case errors.As(err, &own) && own.Quiet:
		answer, err := dapwire.NewQuietError(m, own.ID, own.Message, details)
		c.sendNew(answer, err)
		return
	case errors.As(err, &own):
		f = failure{own.ID, own.Message}
	}
	c.Refuse(m, f.id, f.message, details)
}

// Event sends an event of clew's own.
func (c *Client) Event(e dap.EventMessage) {
	m, err := dapwire.NewEvent(e)
	c.sendNew(m, err)
}

// Tell sends an event about what another client has done. It does not wait: a client that takes
// nothing is given up in the end.
func (c *Client) Tell(e dap.EventMessage) {
	m, err := dapwire.NewEvent(e)
	if err != nil {
		c.log("encode a message: %v", err)
		return
	}
	c.post(m, true)
}

func (c *Client) sendNew(m *dapwire.Message, err error) {
	if err != nil {
		c.log("encode a message: %v", err)
		return
	}
	c.Send(m)
}

// Console writes a line into the debug console.
func (c *Client) Console(text string) { c.output("console", text) }

// Warn tells the user of an error that is no request's.
func (c *Client) Warn(text string) { c.output("important", "clew: "+text) }

func (c *Client) output(category, text string) {
	c.Event(&dap.OutputEvent{Event: dap.Event{Event: "output"}, Body: dap.OutputEventBody{Category: category, Output: text + "\n"}})
}
