package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/server/dapwire"
)

// newClient returns a client whose messages are kept.
func newClient(t *testing.T, b *bytes.Buffer) *Client {
	type connection struct {
		io.Writer
		io.Closer
	}
	return &Client{out: newOutbox(connection{b, io.NopCloser(nil)}, func() bool { return false }), log: t.Logf}
}

// sent returns what a client was sent, and empties the buffer.
func sent(t *testing.T, c *Client, b *bytes.Buffer) (out []string) {
	t.Helper()
	c.out.flush(time.Minute)
	r := dapwire.NewReader(bytes.NewReader(bytes.Clone(b.Bytes())), 0)
	b.Reset()
	for {
		content, err := r.Read()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(content))
	}
}

// TestProgress: much work is shown at once, with 0 per cent; updates come now and then;
// after the end nothing comes.
func TestProgress(t *testing.T) {
	var b bytes.Buffer
	c := newClient(t, &b)
	g := NewProgress(c, 12, true)
	g.Begin("Export", "stacks", 400)
	if got := sent(t, c, &b); len(got) != 1 || got[0] != `{"seq":1,"type":"event","event":"progressStart","body":{"progressId":"clew-12","title":"Export","cancellable":true,"message":"0 of 400 stacks","requestId":12,"percentage":0}}` {
		t.Errorf("%s", got)
	}
	g.Add()
	if got := sent(t, c, &b); got != nil {
		t.Errorf("an update comes at once: %s", got)
	}
	g.shown = g.shown.Add(-progressEvery)
	g.Add()
	if got := sent(t, c, &b); len(got) != 1 || got[0] != `{"seq":2,"type":"event","event":"progressUpdate","body":{"progressId":"clew-12","message":"2 of 400 stacks","percentage":0}}` {
		t.Errorf("%s", got)
	}
	g.End()
	if got := sent(t, c, &b); len(got) != 1 || got[0] != `{"seq":3,"type":"event","event":"progressEnd","body":{"progressId":"clew-12","message":"2 of 400 stacks"}}` {
		t.Errorf("%s", got)
	}
	g.shown = time.Time{}
	g.started = g.started.Add(-time.Hour)
	g.Add()
	g.Begin("Export", "stacks", 400)
	if got := sent(t, c, &b); got != nil {
		t.Errorf("after the end: %s", got)
	}
}

// TestProgressOfLittleWork: it is shown when it takes long, to a client that wants it.
func TestProgressOfLittleWork(t *testing.T) {
	for _, wanted := range []bool{true, false} {
		var b bytes.Buffer
		c := newClient(t, &b)
		g := NewProgress(c, 1, wanted)
		g.Begin("Export", "stacks", 3)
		g.Add()
		if got := sent(t, c, &b); got != nil {
			t.Errorf("shown at once: %s", got)
		}
		g.started = g.started.Add(-progressAfter)
		g.Add()
		if got := strings.Join(sent(t, c, &b), ""); strings.Contains(got, `"percentage":66`) != wanted {
			t.Errorf("wanted %v: %s", wanted, got)
		}
	}
}

// TestClientMessages: what clew says in the debug console and as an error.
func TestClientMessages(t *testing.T) {
	var b bytes.Buffer
	c := newClient(t, &b)
	c.cancelled = errCancelled
	m := &dapwire.Message{Seq: 4, Command: "x"}
	c.Console("hello")
	c.Warn("careful")
	c.Fail(m, fmt.Errorf("x: %w", errCancelled))
	c.Fail(m, io.ErrUnexpectedEOF)
	want := []string{
		`{"seq":1,"type":"event","event":"output","body":{"category":"console","output":"hello\n"}}`,
		`{"seq":2,"type":"event","event":"output","body":{"category":"important","output":"clew: careful\n"}}`,
		`{"seq":3,"type":"response","request_seq":4,"success":false,"command":"x","message":"cancelled","body":{"error":{"id":2103,"format":"cancelled: as the client has asked"}}}`,
		"{\"seq\":4,\"type\":\"response\",\"request_seq\":4,\"success\":false,\"command\":\"x\",\"message\":\"Unable to process `x`\",\"body\":{\"error\":{\"id\":2103,\"format\":\"Unable to process `x`: unexpected EOF\"}}}",
	}
	got := sent(t, c, &b)
	if len(got) != len(want) {
		t.Fatalf("%s", got)
	}
	for i := range want {
		if got[i] != want[i] || !json.Valid([]byte(got[i])) {
			t.Errorf("got  %s\nwant %s", got[i], want[i])
		}
	}
}
