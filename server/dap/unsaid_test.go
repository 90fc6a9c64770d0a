package dap

import (
	"strings"
	"testing"

	"github.com/clewdbg/clew/server/session"
)

// TestRunThatFails: a step that Delve accepts, and that fails by a panic (another client has detached, or the program is gone), ends with a stop that
// says so. Delve tells of none, and whoever waits would wait for ever.
func TestRunThatFails(t *testing.T) {
	p := newPair(t, Options{})
	const request = `{"seq":1,"type":"request","command":"continue","arguments":{"threadId":1}}`
	p.write(p.client, request)
	p.expect(p.toPeer, request)
	p.write(p.peer, `{"seq":1,"type":"response","request_seq":1,"success":true,"command":"continue"}`)
	p.expect(p.fromProxy, `{"seq":1,"type":"response","request_seq":1,"success":true,"command":"continue"}`)
	const failure = `{"seq":2,"type":"response","request_seq":1,"success":false,"command":"","message":"Internal Error","body":{"error":{"id":-1,"format":"Internal Error: send on closed channel"}}}`
	p.write(p.peer, failure)
	p.expect(p.fromProxy, `{"seq":2,"type":"event","event":"stopped","body":{"reason":"exception","description":"runtime error","text":"Internal Error: send on closed channel","allThreadsStopped":true}}`)
	if state, _ := p.proxy.sharing.client.State(); state != session.Stopped {
		t.Errorf("the session: %v", state)
	}
	p.write(p.peer, failure)
	p.expect(p.fromProxy, strings.Replace(failure, `"seq":2`, `"seq":3`, 1))
}

// TestPauseUnanswered: a pause that Delve does not answer is answered all the same, once, and holds nothing up. Delve answers none that ends a download.
func TestPauseUnanswered(t *testing.T) {
	p := newPair(t, Options{})
	const pause = `{"seq":1,"type":"request","command":"pause","arguments":{"threadId":1}}`
	p.write(p.client, pause)
	p.expect(p.toPeer, pause)
	p.expect(p.fromProxy, `{"seq":1,"type":"response","request_seq":1,"success":true,"command":"pause"}`)
	p.write(p.peer, `{"seq":1,"type":"response","request_seq":1,"success":true,"command":"pause"}`) // late
	const resume = `{"seq":2,"type":"request","command":"continue","arguments":{"threadId":1}}`
	p.write(p.client, resume)
	p.expect(p.toPeer, resume)
	p.write(p.peer, `{"seq":2,"type":"response","request_seq":2,"success":true,"command":"continue"}`)
	p.expect(p.fromProxy, `{"seq":2,"type":"response","request_seq":2,"success":true,"command":"continue"}`)
}
