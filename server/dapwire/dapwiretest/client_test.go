package dapwiretest

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/clewdbg/clew/server/dapwire"
)

// peer answers each request with an event before the response, and refuses "bad".
func peer(t *testing.T, conn net.Conn) {
	r := dapwire.NewReader(conn, 0)
	for {
		content, err := r.Read()
		if err != nil {
			return
		}
		m, err := dapwire.Parse(content)
		if err != nil {
			t.Error(err)
			return
		}
		event := `{"seq":1,"type":"event","event":"stopped","body":{"threadId":7,"reason":"step"}}`
		answer := `{"seq":2,"type":"response","request_seq":` + string('0'+byte(m.Seq)) + `,"command":"` + m.Command + `","success":true,"body":{"n":5}}`
		if m.Command == "bad" {
			answer = `{"seq":2,"type":"response","request_seq":` + string('0'+byte(m.Seq)) + `,"command":"bad","success":false,"message":"no"}`
		}
		for _, text := range []string{event, answer} {
			if err := dapwire.Write(conn, []byte(text)); err != nil {
				return
			}
		}
	}
}

// TestClient: an event that comes before a response is not lost, a refusal is an error, and so are silence and the end.
func TestClient(t *testing.T) {
	ours, theirs := net.Pipe()
	go peer(t, theirs)
	c := NewClient(ours)
	c.Patience = time.Minute
	seen := 0
	c.Seen = func(*dapwire.Message) { seen++ }
	var body struct{ N int }
	if err := c.Ask("good", nil, &body); err != nil || body.N != 5 {
		t.Fatal(body, err)
	}
	if thread, reason, err := c.Stopped(); thread != 7 || reason != "step" || err != nil {
		t.Error(thread, reason, err)
	}
	var refused *RefusedError
	if err := c.Ask("bad", nil, &body); !errors.As(err, &refused) || refused.Text != "no" {
		t.Error(err)
	}
	if seen != 4 {
		t.Errorf("%d messages", seen)
	}
	c.Patience = time.Millisecond
	if m, err := c.Event("never"); err == nil {
		t.Errorf("%s", m.Bytes())
	}
	c.Patience = time.Minute
	if err := theirs.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Read(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}
