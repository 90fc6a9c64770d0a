package dap

import (
	"io"
	"maps"
	"slices"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dapwire"
)

// owes notes a request that the client waits for the answer to.
func (c *client) owes(m *dapwire.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owed != nil && m.Type == dapwire.TypeRequest {
		c.owed[m.Seq] = m.Command
	}
}

// hearEnd notes that Delve has told the client of the session's end.
func (p *Proxy) hearEnd(m *dapwire.Message) {
	if m.Event == "terminated" || m.Type == dapwire.TypeResponse && m.Command == "disconnect" && m.Success {
		p.over.Store(true)
	}
}

// tellLost is called when nothing more comes from Delve. A client that still
// waits is told why there is no answer, and that the session has ended; without
// that, editors would show a session that does nothing.
func (p *Proxy) tellLost() {
	if p.opts.Lost == "" {
		return
	}
	p.state.runs()
	p.client.mu.Lock()
	owed := maps.Clone(p.client.owed)
	p.client.mu.Unlock()
	for _, seq := range slices.Sorted(maps.Keys(owed)) {
		p.refuse(&dapwire.Message{Seq: seq, Command: owed[seq]}, errLost, "Unable to process `"+owed[seq]+"`", p.opts.Lost)
	}
	if !p.over.Load() {
		p.warn(p.opts.Lost)
		p.event(&dap.TerminatedEvent{Event: dap.Event{Event: "terminated"}})
	}
}

// Refuse answers a client's first request with an error, where there is no Delve
// for it.
func Refuse(client io.ReadWriter, maxMessage int, cause error) {
	content, err := dapwire.NewReader(client, maxMessage).Read()
	if err != nil {
		return
	}
	m, err := dapwire.Parse(content)
	if err != nil || m.Type != dapwire.TypeRequest {
		return
	}
	answer, err := dapwire.NewError(m, errLost, "Unable to process `"+m.Command+"`", cause.Error())
	if err != nil {
		return
	}
	answer.SetSeq(1)
	_ = dapwire.Write(client, answer.Bytes())
}
