package dap

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve"
)

// pair is a proxy between a client and an upstream that the test plays.
type pair struct {
	t            *testing.T
	proxy        *Proxy
	client, peer net.Conn
	fromProxy    *dapwire.Reader // what the client gets
	toPeer       *dapwire.Reader // what the upstream gets
	done         chan struct{}
}

func newPair(t *testing.T, opts Options) *pair {
	t.Helper()
	client, ours := net.Pipe()
	peer, theirs := net.Pipe()
	opts.Client, opts.Upstream = ours, theirs
	proxy := New(opts)
	p := connect(t, client, peer, proxy.Run)
	p.proxy = proxy
	return p
}

// connect plays the client and the upstream of run.
func connect(t *testing.T, client, peer net.Conn, run func()) *pair {
	t.Helper()
	p := &pair{
		t: t, client: client, peer: peer, done: make(chan struct{}),
		fromProxy: dapwire.NewReader(client, 0), toPeer: dapwire.NewReader(peer, 0),
	}
	go func() {
		defer close(p.done)
		run()
	}()
	t.Cleanup(func() {
		_ = client.Close()
		_ = peer.Close()
		select {
		case <-p.done:
		case <-time.After(time.Minute):
			t.Error("the proxy does not end")
		}
	})
	for _, c := range []net.Conn{client, peer} {
		if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p *pair) write(w io.Writer, text string) {
	p.t.Helper()
	if err := dapwire.Write(w, []byte(text)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pair) expect(r *dapwire.Reader, want string) {
	p.t.Helper()
	got, err := r.Read()
	if err != nil || string(got) != want {
		p.t.Fatalf("got  %s, %v\nwant %s", got, err, want)
	}
}

// TestPassesUnknown: unknown requests and events pass unchanged, in both
// directions, reverse requests and their answers included.
func TestPassesUnknown(t *testing.T) {
	p := newPair(t, Options{})
	const request = `{"seq":7,"type":"request","command":"x/y","arguments":{"a":[1,{}],"ü":"\u00fc"},"more":null}`
	p.write(p.client, request)
	p.expect(p.toPeer, request)
	p.write(p.peer, `{"seq":1,"type":"event","event":"x/z","body":{"big":12345678901234567890}}`)
	p.expect(p.fromProxy, `{"seq":1,"type":"event","event":"x/z","body":{"big":12345678901234567890}}`)
	p.write(p.peer, `{"seq":9,"type":"response","request_seq":7,"success":true,"command":"x/y","extra":1}`)
	p.expect(p.fromProxy, `{"seq":2,"type":"response","request_seq":7,"success":true,"command":"x/y","extra":1}`)
	p.write(p.peer, `{"seq":10,"type":"request","command":"runInTerminal","arguments":{}}`)
	p.expect(p.fromProxy, `{"seq":3,"type":"request","command":"runInTerminal","arguments":{}}`)
	p.write(p.client, `{"seq":8,"type":"response","request_seq":3,"success":true,"command":"runInTerminal"}`)
	p.expect(p.toPeer, `{"seq":8,"type":"response","request_seq":10,"success":true,"command":"runInTerminal"}`)
	p.write(p.client, `{"seq":9,"type":"nonsense"}`)
	p.expect(p.toPeer, `{"seq":9,"type":"nonsense"}`)
	p.write(p.client, `no JSON at all`)
	p.expect(p.toPeer, `no JSON at all`)
}

// TestSameNumbers: a client that numbers its requests badly gets its answers all
// the same.
func TestSameNumbers(t *testing.T) {
	p := newPair(t, Options{})
	huge := `{"seq":2199023255552,"type":"request","command":"a"}`
	p.write(p.client, huge)
	got, err := p.toPeer.Read()
	m, err2 := dapwire.Parse(got)
	if err != nil || err2 != nil || m.Seq < 1<<40 {
		t.Fatalf("%s, %v, %v", got, err, err2)
	}
	for range 2 {
		p.write(p.client, `{"seq":5,"type":"request","command":"a"}`)
		p.expect(p.toPeer, `{"seq":5,"type":"request","command":"a"}`)
	}
	answer, _ := dapwire.NewResponse(m, nil)
	p.write(p.peer, string(answer.Bytes()))
	p.expect(p.fromProxy, `{"seq":1,"type":"response","request_seq":2199023255552,"success":true,"command":"a"}`)
	for n := range 2 {
		p.write(p.peer, `{"seq":1,"type":"response","request_seq":5,"success":true,"command":"a"}`)
		p.expect(p.fromProxy, `{"seq":`+string(rune('2'+n))+`,"type":"response","request_seq":5,"success":true,"command":"a"}`)
	}
}

// TestDelvesAnswer: without a program to read, Delve's own stack goes out as
// it came.
func TestDelvesAnswer(t *testing.T) {
	p := newPair(t, Options{Session: func() *delve.Session { return nil }})
	p.write(p.peer, `{"seq":1,"type":"event","event":"initialized"}`)
	p.expect(p.fromProxy, `{"seq":1,"type":"event","event":"initialized"}`)
	p.write(p.peer, `{"seq":2,"type":"event","event":"stopped","body":{"reason":"pause"}}`)
	p.expect(p.fromProxy, `{"seq":2,"type":"event","event":"stopped","body":{"reason":"pause"}}`)
	const request = `{"seq":1,"type":"request","command":"stackTrace","arguments":{"threadId":1}}`
	p.write(p.client, request)
	p.expect(p.toPeer, request)
	p.write(p.peer, `{"seq":3,"type":"response","request_seq":1,"success":true,"command":"stackTrace","body":{"stackFrames":[{"id":1000,"strange":1}],"totalFrames":1}}`)
	p.expect(p.fromProxy, `{"seq":3,"type":"response","request_seq":1,"success":true,"command":"stackTrace","body":{"stackFrames":[{"id":1000,"strange":1}],"totalFrames":1}}`)
}

// TestMalformedFraming is answered, and ends the session.
func TestMalformedFraming(t *testing.T) {
	p := newPair(t, Options{})
	if _, err := io.WriteString(p.client, "Content-Length: -1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	got, err := p.fromProxy.Read()
	if err != nil || !strings.Contains(string(got), `"success":false`) || !strings.Contains(string(got), "not a number of bytes") {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := p.toPeer.Read(); !errors.Is(err, io.EOF) {
		t.Errorf("the upstream sees %v", err)
	}
	_ = p.peer.Close()
	<-p.done
}

// TestUpstreamGone releases who waits.
func TestUpstreamGone(t *testing.T) {
	p := newPair(t, Options{})
	p.write(p.client, `{"seq":1,"type":"request","command":"threads"}`)
	if _, err := p.toPeer.Read(); err != nil {
		t.Fatal(err)
	}
	_ = p.peer.Close()
	if _, err := p.fromProxy.Read(); !errors.Is(err, io.EOF) {
		t.Errorf("the client sees %v", err)
	}
	<-p.done
}

type nopCloser struct{}

func (nopCloser) Read([]byte) (int, error)    { return 0, io.EOF }
func (nopCloser) Write(p []byte) (int, error) { return len(p), nil }
func (nopCloser) Close() error                { return nil }
