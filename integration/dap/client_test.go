package dap

import (
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/dapwire/dapwiretest"
)

// object is any JSON object.
type object = map[string]any

// client plays an editor.
type client struct {
	*dapwiretest.Client
	t    testing.TB
	conn io.ReadWriteCloser
	all  []*dapwire.Message // everything that came
	next int                // the first of all that expect has not seen
	last int64              // number of the last message that came
	// numbered: messages come with numbers without gaps. Delve's have some.
	numbered bool
	// elsewhere: Delve is in another process than the proxy, and cannot be given
	// frames of Go code.
	elsewhere bool
}

func newClient(t testing.TB, conn io.ReadWriteCloser) *client {
	c := &client{Client: dapwiretest.NewClient(conn), t: t, conn: conn}
	c.Patience = patience
	t.Cleanup(func() { _ = conn.Close() })
	return c
}

// send sends a request.
func (c *client) send(command string, arguments any) int64 {
	c.t.Helper()
	seq, err := c.Send(command, arguments)
	if err != nil {
		c.t.Fatal(err)
	}
	return seq
}

// read returns the next message, nil at the end.
func (c *client) read() *dapwire.Message {
	c.t.Helper()
	m, err := c.Read()
	switch {
	case errors.Is(err, dapwiretest.ErrSilent):
		c.t.Fatalf("%v; so far: %s", err, c.transcript())
	case errors.Is(err, dapwiretest.ErrMalformed):
		c.t.Error(err)
	case err == nil:
		if m.Seq != c.last+1 && c.numbered {
			c.t.Errorf("message %d follows message %d", m.Seq, c.last)
		}
		c.last = m.Seq
		c.all = append(c.all, m)
	}
	return m
}

// until returns the first message from c.next on for which is holds, reading on as
// needed. Messages before it are left out.
func (c *client) until(what string, is func(*dapwire.Message) bool) *dapwire.Message {
	c.t.Helper()
	for i := c.next; ; i++ {
		if i == len(c.all) {
			if c.read() == nil {
				c.t.Fatalf("the connection ends while waiting for %s; so far: %s", what, c.transcript())
			}
		}
		if m := c.all[i]; is(m) {
			c.next = i + 1
			return m
		}
	}
}

// response waits for the response to a request. Events that come before it can
// still be waited for.
func (c *client) response(seq int64) *dapwire.Message {
	c.t.Helper()
	next := c.next
	m := c.until("the response", func(m *dapwire.Message) bool { return m.Type == dapwire.TypeResponse && m.RequestSeq == seq })
	c.next = next
	return m
}

// request sends a request and waits for its response.
func (c *client) request(command string, arguments any) *dapwire.Message {
	c.t.Helper()
	return c.response(c.send(command, arguments))
}

// ok is request, for a response that must not be an error.
func (c *client) ok(command string, arguments any) object {
	c.t.Helper()
	m := c.request(command, arguments)
	if !m.Success {
		c.t.Fatalf("%s %v fails: %s", command, arguments, m.Bytes())
	}
	return body(c.t, m)
}

// event waits for an event.
func (c *client) event(name string) object {
	c.t.Helper()
	return body(c.t, c.until("event "+name, func(m *dapwire.Message) bool { return m.Event == name }))
}

// end reads until the connection is closed.
func (c *client) end() {
	c.t.Helper()
	for c.read() != nil {
	}
}

func body(t testing.TB, m *dapwire.Message) object {
	t.Helper()
	var b object
	if err := m.Decode("body", &b); err != nil {
		t.Fatalf("body of %s: %v", m.Bytes(), err)
	}
	return b
}

// decode reads a body into v.
func decode(t testing.TB, m *dapwire.Message, v any) {
	t.Helper()
	if !m.Success {
		t.Fatalf("%s fails: %s", m.Command, m.Bytes())
	}
	if err := m.Decode("body", v); err != nil {
		t.Fatalf("body of %s: %v", m.Bytes(), err)
	}
}

func (c *client) transcript() string {
	var all []json.RawMessage
	for _, m := range c.all {
		all = append(all, m.Bytes())
	}
	text, _ := json.MarshalIndent(all, "", " ")
	return string(text)
}

// initialize introduces the client as Delve demands it.
func (c *client) initialize() object {
	c.t.Helper()
	return c.ok("initialize", initializeArguments)
}

var initializeArguments = object{
	"clientID": "test", "adapterID": "go", "pathFormat": "path", "linesStartAt1": true, "columnsStartAt1": true,
	"supportsVariableType": true, "supportsVariablePaging": true, "supportsRunInTerminalRequest": true, "locale": "en-us",
}

// launch goes to the first stop.
func (c *client) launch(arguments object) (stopped object) {
	c.t.Helper()
	c.initialize()
	c.ok("launch", arguments)
	c.event("initialized")
	c.ok("configurationDone", nil)
	return c.event("stopped")
}

// disconnect ends the session.
func (c *client) disconnect() {
	c.t.Helper()
	c.ok("disconnect", object{"terminateDebuggee": true})
	c.end()
}
