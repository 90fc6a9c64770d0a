package wire

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dapwire"
)

// padded is a message of a given length.
func padded(head, tail string, length int) string {
	return head + strings.Repeat("x", length-len(head)-len(tail)) + tail
}

// TestLongRequests: a request that Delve's session would end at is refused, whichever way
// it takes, unless it is short enough without its blanks.
func TestLongRequests(t *testing.T) {
	s := start(t, Options{})
	s.write(s.client, padded(`{"seq":5,"type":"request","command":"a","arguments":"`, `"}`, maxDelveMessage+1))
	s.contains(s.fromBridge, `"request_seq":5,"success":false,"command":"a"`, "Request too long", "up to 4194304")
	short := padded(`{"seq":6,"type":"request","command":"a","arguments":"`, `"}`, maxDelveMessage)
	s.write(s.client, strings.Replace(short, `,"type"`, ",\n\t \"type\"", 1))
	s.expect(s.toPeer, short)
	// Only the number that clew gives makes it too long, if it was forwarded or asked.
	for _, command := range []string{"a", "ask"} {
		request := padded(`{"seq":0,"type":"request","command":"`+command+`","arguments":"`, `"}`, maxDelveMessage)
		s.write(s.client, request)
		if command == "a" {
			s.expect(s.toPeer, request) // keeps its number
			continue
		}
		s.contains(s.fromBridge, `"request_seq":0,"success":false,"command":"ask"`, "Request too long")
	}
	// What is no request is dropped.
	s.write(s.client, padded(`{"seq":8,"type":"response","request_seq":1,"command":"`, `"}`, maxDelveMessage+1))
	s.write(s.client, `{"seq":9,"type":"request","command":"next"}`)
	s.expect(s.toPeer, `{"seq":9,"type":"request","command":"next"}`)
}

// TestLongInjected: a request of clew's own that is too long has an error for an answer.
func TestLongInjected(t *testing.T) {
	s := start(t, Options{})
	answer, err := s.bridge.Up.Inject(t.Context(), &dap.EvaluateRequest{
		Request: dap.Request{Command: "evaluate"}, Arguments: dap.EvaluateArguments{Expression: strings.Repeat("x", maxDelveMessage)},
	})
	if err != nil || answer.Success || answer.Text("message") != "Request too long" {
		t.Errorf("%+v, %v", answer, err)
	}
	if !s.bridge.Up.Idle() {
		t.Error("it still waits for an answer")
	}
}

// TestLongAnswers: an answer of Delve's beyond the bound is an error for its request, and
// a long event is dropped.
func TestLongAnswers(t *testing.T) {
	s := start(t, Options{MaxMessage: 100_000})
	long := strings.Repeat("x", 100_000)
	for _, command := range []string{"a", "ask"} {
		request := `{"seq":5,"type":"request","command":"` + command + `"}`
		s.write(s.client, request)
		s.expect(s.toPeer, request)
		s.write(s.peer, `{"seq":0,"type":"response","request_seq":5,"success":true,"command":"`+command+`","body":"`+long+`"}`)
		s.contains(s.fromBridge, `"request_seq":5,"success":false,"command":"`+command+`"`, "maxMessage", "100000")
	}
	s.write(s.peer, `{"seq":0,"type":"event","event":"output","body":"`+long+`"}`)
	s.write(s.peer, `{"seq":0,"type":"event","event":"x"}`)
	s.expect(s.fromBridge, `{"seq":3,"type":"event","event":"x","seen":true}`)
}

// TestInject: a request of clew's own has a number that clients do not use, and its
// answer goes to the caller only.
func TestInject(t *testing.T) {
	s := start(t, Options{})
	type result struct {
		answer *dapwire.Message
		err    error
	}
	results := make(chan result, 1)
	inject := func() {
		answer, err := s.bridge.Up.Inject(t.Context(), &dap.ThreadsRequest{Request: dap.Request{Command: "threads"}})
		results <- result{answer, err}
	}
	go inject()
	s.expect(s.toPeer, `{"seq":1099511627776,"type":"request","command":"threads"}`)
	s.write(s.peer, `{"seq":1,"type":"response","request_seq":1099511627776,"success":true,"command":"threads","body":7}`)
	if r := <-results; r.err != nil || string(r.answer.Bytes()) != `{"seq":1,"type":"response","request_seq":0,"success":true,"command":"threads","body":7}` {
		t.Errorf("%+v", r)
	}
	go inject()
	s.expect(s.toPeer, `{"seq":1099511627777,"type":"request","command":"threads"}`)
	_ = s.peer.Close()
	if r := <-results; !errors.Is(r.err, errUpstreamGone) {
		t.Errorf("%+v", r)
	}
}
