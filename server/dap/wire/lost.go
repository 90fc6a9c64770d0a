package wire

import (
	"io"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dapwire"
)

// tellLost is called when nothing more comes from Delve. A client that still waits is
// told why there is no answer, and that the session has ended; without that, editors
// would show a session that does nothing. The end after a malformed message is Delve's answer to that.
func (b *Bridge) tellLost(h Handler) {
	if b.opts.Lost == "" {
		return
	}
	h.Lost()
	for _, m := range b.Client.waiting() {
		b.Client.Refuse(m, lost, unable(m.Command), b.opts.Lost)
	}
	if !b.over.Load() && !b.bad.Load() {
		b.Client.Warn(b.opts.Lost)
		b.Client.Event(&dap.TerminatedEvent{Event: dap.Event{Event: "terminated"}})
	}
}

// Refuse answers a client's first request with an error, where there is no Delve for it.
func Refuse(client io.ReadWriteCloser, maxMessage int, cause error) {
	content, err := dapwire.NewReader(client, maxMessage).Read()
	if err != nil {
		return
	}
	m, err := dapwire.Parse(content)
	if err != nil || m.Type != dapwire.TypeRequest {
		return
	}
	c := &Client{out: newOutbox(client, func() bool { return false }), log: func(string, ...any) {}}
	c.Refuse(m, lost, unable(m.Command), cause.Error())
	c.out.flush(flushPatience)
}
