package dap

import (
	"io"
	"sync"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dapwire"
)

// client is the connection to the editor: it numbers what is sent.
type client struct {
	mu  sync.Mutex
	w   io.Writer
	seq int64
	// asked are the requests of Delve's that the client has not answered: Delve's
	// numbers by ours.
	asked map[int64]int64
	// owed are the requests that the client has had no answer to, with their
	// commands. Nil where nobody will ask.
	owed map[int64]string
}

// send sends a message. A client that is gone is noticed where its messages are
// read.
func (c *client) send(m *dapwire.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	if m.Type == dapwire.TypeRequest {
		if c.asked == nil {
			c.asked = make(map[int64]int64)
		}
		c.asked[c.seq] = m.Seq
	}
	if m.Type == dapwire.TypeResponse {
		delete(c.owed, m.RequestSeq)
	}
	m.SetSeq(c.seq)
	_ = dapwire.Write(c.w, m.Bytes())
}

// answers gives an answer of the client's the number of Delve's request.
func (c *client) answers(m *dapwire.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if seq, ok := c.asked[m.RequestSeq]; ok {
		delete(c.asked, m.RequestSeq)
		m.SetRequestSeq(seq)
	}
}

// Numbers of errors, as Delve has them (service/dap/error_ids.go), and our own
// from errStep on.
const (
	errMalformed   = 8888
	errLaunch      = 3000
	errStackTrace  = 2004
	errScopes      = 2005
	errVariables   = 2008
	errEvaluate    = 2009
	errSetVariable = 2012
	errDataBreak   = 2017
	errException   = 2011
	errStep        = 2101
	errLost        = 2102
	errOwn         = 2103
)

// respond answers a request.
func (p *Proxy) respond(request *dapwire.Message, answer dap.ResponseMessage) {
	m, err := dapwire.NewResponse(request, answer)
	if err != nil {
		p.opts.Log("answer %s: %v", request.Command, err)
		return
	}
	p.client.send(m)
}

// refuse answers a request with an error.
func (p *Proxy) refuse(request *dapwire.Message, id int, message, details string) {
	m, err := dapwire.NewError(request, id, message, details)
	if err != nil {
		p.opts.Log("refuse %s: %v", request.Command, err)
		return
	}
	p.client.send(m)
}

// event sends an event of our own.
func (p *Proxy) event(e dap.EventMessage) {
	m, err := dapwire.NewEvent(e)
	if err != nil {
		p.opts.Log("event %s: %v", e.GetEvent().Event, err)
		return
	}
	p.client.send(m)
}

// console writes a line into the debug console.
func (p *Proxy) console(text string) {
	p.output("console", text)
}

// warn tells the user of something that went wrong.
func (p *Proxy) warn(text string) { p.output("important", "clew: "+text) }

func (p *Proxy) output(category, text string) {
	p.event(&dap.OutputEvent{Event: dap.Event{Event: "output"}, Body: dap.OutputEventBody{Category: category, Output: text + "\n"}})
}
