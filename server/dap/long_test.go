package dap

import (
	"strings"
	"testing"

	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/dapwire/dapwiretest"
)

// maxDelveMessage is the longest request that Delve takes.
const maxDelveMessage = 4 << 20

// TestLongRequests: what Delve does not take is refused, and the session goes on.
func TestLongRequests(t *testing.T) {
	p := newPair(t, Options{})
	// request pads a request to a length.
	request := func(head, tail string, length int) string {
		return head + strings.Repeat("x", length-len(head)-len(tail)) + tail
	}
	refused := func(seq, command string) {
		t.Helper()
		content, err := p.fromProxy.Read()
		if err != nil {
			t.Fatal(err)
		}
		m, err := dapwire.Parse(content)
		if err != nil || m.Success || m.Command != command || !strings.Contains(string(content), `"request_seq":`+seq) || !strings.Contains(string(content), "up to 4194304") {
			t.Fatalf("%.300s, %v", content, err)
		}
	}
	p.write(p.client, request(`{"seq":5,"type":"request","command":"evaluate","arguments":{"expression":"`, `"}}`, maxDelveMessage+1))
	refused("5", "evaluate")

	fits := request(`{"seq":6,"type":"request","command":"evaluate","arguments":{"expression":"`, `"}}`, maxDelveMessage)
	p.write(p.client, fits)
	p.expect(p.toPeer, fits)
	p.write(p.client, strings.ReplaceAll(strings.Replace(fits, `"seq":6`, `"seq":7`, 1), `","`, `",`+"\n\t"+`"`))
	p.expect(p.toPeer, strings.Replace(fits, `"seq":6`, `"seq":7`, 1))

	// What only clew's number makes too long.
	p.write(p.client, request(`{"seq":0,"type":"request","command":"threads","arguments":{"x":"`, `"}}`, maxDelveMessage))
	refused("0", "threads")
	p.write(p.client, request(`{"seq":2199023255552,"type":"request","command":"x","arguments":{"x":"`, `"}}`, maxDelveMessage))
	content, err := p.toPeer.Read()
	if err != nil || len(content) > maxDelveMessage {
		t.Errorf("%d bytes, %v", len(content), err)
	}

	// Nobody waits for an answer to an answer; what is no JSON is Delve's to judge.
	p.write(p.client, request(`{"seq":8,"type":"response","request_seq":1,"success":true,"command":"`, `"}`, maxDelveMessage+1))
	p.write(p.client, `{"seq":9,"type":"request","command":"next to come"}`)
	p.expect(p.toPeer, `{"seq":9,"type":"request","command":"next to come"}`)
}

// TestLongRequestThatResumes: the program stands where it stood when a request to
// run was not sent.
func TestLongRequestThatResumes(t *testing.T) {
	p := New(Options{Client: nopCloser{}, Upstream: nopCloser{}})
	p.state.Stops()
	long, err := dapwiretest.Request("continue", map[string]string{"x": strings.Repeat("x", maxDelveMessage)})
	if err != nil {
		t.Fatal(err)
	}
	_ = p.Request(t.Context(), long) // how it is answered is TestLongRequests's
	if _, stopped := p.state.At(); !stopped {
		t.Error("the program counts as running")
	}
}

// TestLongAnswers: an answer of Delve's beyond the bound is an error for the one
// request that it is to.
func TestLongAnswers(t *testing.T) {
	p := newPair(t, Options{MaxMessage: 100_000})
	long := strings.Repeat("x", 100_000)
	p.write(p.client, `{"seq":5,"type":"request","command":"readMemory"}`)
	p.expect(p.toPeer, `{"seq":5,"type":"request","command":"readMemory"}`)
	p.write(p.peer, `{"seq":0,"type":"response","request_seq":5,"success":true,"command":"readMemory","body":{"data":"`+long+`"}}`)
	got, err := p.fromProxy.Read()
	if err != nil || !strings.Contains(string(got), `"request_seq":5,"success":false,"command":"readMemory"`) || !strings.Contains(string(got), "maxMessage") {
		t.Errorf("%.300s, %v", got, err)
	}
	// One that the client does not see: its request is answered all the same.
	p.write(p.client, `{"seq":6,"type":"request","command":"threads"}`)
	p.expect(p.toPeer, `{"seq":6,"type":"request","command":"threads"}`)
	p.write(p.peer, `{"seq":0,"type":"response","request_seq":6,"success":true,"command":"threads","body":{"threads":["`+long+`"]}}`)
	if got, err := p.fromProxy.Read(); err != nil || !strings.Contains(string(got), `"request_seq":6,"success":false,"command":"threads"`) {
		t.Errorf("%.300s, %v", got, err)
	}
	p.write(p.peer, `{"seq":0,"type":"event","event":"output","body":{"output":"`+long+`"}}`)
	p.write(p.peer, `{"seq":0,"type":"event","event":"x"}`)
	p.expect(p.fromProxy, `{"seq":3,"type":"event","event":"x"}`)
}
