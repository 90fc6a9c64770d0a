package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clewdbg/clew/server/dapwire"
)

var errCancelled = errors.New("the client has cancelled it")

// session is a bridge between a client and an upstream that the test plays, with a
// handler that forwards all but a few commands.
type session struct {
	t            *testing.T
	bridge       *Bridge
	client, peer net.Conn
	fromBridge   *dapwire.Reader // what the client gets
	toPeer       *dapwire.Reader // what the upstream gets
	done         chan struct{}

	mu        sync.Mutex
	handled   []string
	lost      bool
	working   chan context.Context // contexts of "clew/work", which waits for its end
	cancelled []int64
}

func start(t *testing.T, opts Options) *session {
	t.Helper()
	client, ours := net.Pipe()
	peer, theirs := net.Pipe()
	opts.Client, opts.Upstream, opts.Log, opts.Cancelled = ours, theirs, t.Logf, errCancelled
	opts.AnswerHead = answerHead
	s := &session{
		t: t, bridge: NewBridge(opts), client: client, peer: peer, done: make(chan struct{}), working: make(chan context.Context, 1),
		fromBridge: dapwire.NewReader(client, 0), toPeer: dapwire.NewReader(peer, 0),
	}
	go func() {
		defer close(s.done)
		s.bridge.Run(s)
	}()
	t.Cleanup(func() {
		_ = client.Close()
		_ = peer.Close()
		s.ended()
	})
	for _, c := range []net.Conn{client, peer} {
		if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Request handles a few commands, and forwards the others.
func (s *session) Request(ctx context.Context, m *dapwire.Message) error {
	s.mu.Lock()
	s.handled = append(s.handled, m.Command)
	s.mu.Unlock()
	switch m.Command {
	case "ask":
		answer, err := s.bridge.Up.Ask(ctx, m)
		if err != nil {
			return err
		}
		s.bridge.Client.Send(answer)
	case "clew/work":
		s.working <- ctx
		<-ctx.Done()
		return context.Cause(ctx)
	case "become clew":
		s.bridge.PassAll()
		s.bridge.Up.Forward(m, nil)
	default:
		s.bridge.Up.Forward(m, func(answer *dapwire.Message) { answer.Set("rewritten", []byte("true")) })
	}
	return nil
}

// Event marks an event.
func (s *session) Event(m *dapwire.Message) { m.Set("seen", []byte("true")) }

// Cancel ends work for request 77 only.
func (s *session) Cancel(request int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancelled = append(s.cancelled, request)
	return request == 77
}

// Lost notes that it was called.
func (s *session) Failed(m *dapwire.Message) *dapwire.Message { return m }
func (s *session) Left()                                      {}
func (s *session) Lost() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = true
}

func (s *session) ended() {
	s.t.Helper()
	select {
	case <-s.done:
	case <-time.After(time.Minute):
		s.t.Error("the bridge does not end")
	}
}

func (s *session) write(w io.Writer, text string) {
	s.t.Helper()
	if err := dapwire.Write(w, []byte(text)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) expect(r *dapwire.Reader, want string) {
	s.t.Helper()
	got, err := r.Read()
	if err != nil || string(got) != want {
		s.t.Fatalf("got  %.400s, %v\nwant %.400s", got, err, want)
	}
}

// contains reads a message of which only parts are known.
func (s *session) contains(r *dapwire.Reader, parts ...string) string {
	s.t.Helper()
	got, err := r.Read()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, part := range parts {
		if !strings.Contains(string(got), part) {
			s.t.Fatalf("%.400s lacks %s", got, part)
		}
	}
	return string(got)
}

// TestForward: a request keeps its bytes and its number, its answer is rewritten and
// numbered, an event is handled before the client gets it.
func TestForward(t *testing.T) {
	s := start(t, Options{})
	const request = `{"seq":7,"type":"request","command":"x/y","arguments":{"a":[1,{}],"ü":"\u00fc","big":12345678901234567890},"more":null}`
	s.write(s.client, request)
	s.expect(s.toPeer, request)
	s.write(s.peer, `{"seq":40,"type":"event","event":"e"}`)
	s.expect(s.fromBridge, `{"seq":1,"type":"event","event":"e","seen":true}`)
	s.write(s.peer, `{"seq":41,"type":"response","request_seq":7,"success":true,"command":"x/y"}`)
	s.expect(s.fromBridge, `{"seq":2,"type":"response","request_seq":7,"success":true,"command":"x/y","rewritten":true}`)
	// A second answer passes as it is.
	s.write(s.peer, `{"seq":42,"type":"response","request_seq":7,"success":false,"command":"x/y"}`)
	s.expect(s.fromBridge, `{"seq":3,"type":"response","request_seq":7,"success":false,"command":"x/y"}`)
	// An answer with a number that only clew uses, to no request, does not.
	s.write(s.peer, `{"seq":43,"type":"response","request_seq":1099511627999,"success":true,"command":"x"}`)
	s.write(s.peer, `no JSON`)
	s.write(s.peer, `{"seq":44,"type":"event","event":"f"}`)
	s.expect(s.fromBridge, `{"seq":4,"type":"event","event":"f","seen":true}`)
}

// TestReverseRequests: Delve's requests to the client and the answers have both sides'
// numbers.
func TestReverseRequests(t *testing.T) {
	s := start(t, Options{})
	s.write(s.peer, `{"seq":10,"type":"request","command":"runInTerminal","arguments":{}}`)
	s.expect(s.fromBridge, `{"seq":1,"type":"request","command":"runInTerminal","arguments":{}}`)
	s.write(s.client, `{"seq":8,"type":"response","request_seq":1,"success":true,"command":"runInTerminal"}`)
	s.expect(s.toPeer, `{"seq":8,"type":"response","request_seq":10,"success":true,"command":"runInTerminal"}`)
	s.write(s.client, `{"seq":9,"type":"response","request_seq":1,"success":true,"command":"again"}`)
	s.expect(s.toPeer, `{"seq":9,"type":"response","request_seq":1,"success":true,"command":"again"}`)
}

// TestAsk: the client does not see an answer that was asked for, and the request that was
// forwarded in between has its own.
func TestAsk(t *testing.T) {
	s := start(t, Options{})
	if !s.bridge.Up.Idle() {
		t.Error("there are requests before the first")
	}
	s.write(s.client, `{"seq":5,"type":"request","command":"ask"}`)
	s.expect(s.toPeer, `{"seq":5,"type":"request","command":"ask"}`)
	if s.bridge.Up.Idle() {
		t.Error("no request waits")
	}
	s.write(s.peer, `{"seq":1,"type":"response","request_seq":5,"success":true,"command":"ask","body":{}}`)
	s.expect(s.fromBridge, `{"seq":1,"type":"response","request_seq":5,"success":true,"command":"ask","body":{}}`)

	// The client's number may be one of clew's own range, or used twice.
	s.write(s.client, `{"seq":1099511627776,"type":"request","command":"ask"}`)
	s.expect(s.toPeer, `{"seq":1099511627776,"type":"request","command":"ask"}`)
	s.write(s.peer, `{"seq":1,"type":"response","request_seq":1099511627776,"success":true,"command":"ask"}`)
	s.expect(s.fromBridge, `{"seq":2,"type":"response","request_seq":1099511627776,"success":true,"command":"ask"}`)
	for range 2 {
		s.write(s.client, `{"seq":6,"type":"request","command":"twice"}`)
		s.expect(s.toPeer, `{"seq":6,"type":"request","command":"twice"}`)
	}
	for n := range 2 {
		s.write(s.peer, `{"seq":1,"type":"response","request_seq":6,"success":true,"command":"twice"}`)
		s.expect(s.fromBridge, `{"seq":`+string(rune('3'+n))+`,"type":"response","request_seq":6,"success":true,"command":"twice","rewritten":true}`)
	}
}

// TestPassAll: an upstream that is clew's gets every message, and no handler sees it.
func TestPassAll(t *testing.T) {
	s := start(t, Options{})
	s.write(s.client, `{"seq":1,"type":"request","command":"become clew"}`)
	s.expect(s.toPeer, `{"seq":1,"type":"request","command":"become clew"}`)
	for _, request := range []string{`{"seq":2,"type":"request","command":"clew/work"}`, `{"seq":3,"type":"request","command":"cancel","arguments":{"requestId":77}}`} {
		s.write(s.client, request)
		s.expect(s.toPeer, request)
	}
	s.write(s.peer, `{"seq":9,"type":"event","event":"e"}`)
	s.expect(s.fromBridge, `{"seq":1,"type":"event","event":"e"}`)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.handled, []string{"become clew"}) || s.cancelled != nil {
		t.Errorf("handled: %q, cancelled: %d", s.handled, s.cancelled)
	}
}

// TestCancel: a cancel request is worked on ahead of the requests before it.
func TestCancel(t *testing.T) {
	s := start(t, Options{})
	s.write(s.client, `{"seq":1,"type":"request","command":"clew/work"}`)
	s.write(s.client, `{"seq":2,"type":"request","command":"clew/work"}`)
	<-s.working
	// The second, whose turn has not come, by its progress; the first by its number.
	s.write(s.client, `{"seq":3,"type":"request","command":"cancel","arguments":{"progressId":"clew-2"}}`)
	s.contains(s.fromBridge, `"request_seq":3,"success":true,"command":"cancel"`)
	s.write(s.client, `{"seq":4,"type":"request","command":"cancel","arguments":{"requestId":1}}`)
	var answers []string
	for range 3 {
		answers = append(answers, s.contains(s.fromBridge))
	}
	all := strings.Join(answers, "\n")
	for _, want := range []string{
		`"request_seq":4,"success":true,"command":"cancel"`,
		`"request_seq":1,"success":false,"command":"clew/work","message":"cancelled"`,
		`"request_seq":2,"success":false,"command":"clew/work","message":"cancelled"`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%s\nlacks %s", all, want)
		}
	}
	// The handler's own work; and what no work is for passes.
	s.write(s.client, `{"seq":5,"type":"request","command":"cancel","arguments":{"requestId":77}}`)
	s.contains(s.fromBridge, `"request_seq":5,"success":true`)
	for _, request := range []string{
		`{"seq":6,"type":"request","command":"cancel","arguments":{"requestId":2}}`, `{"seq":7,"type":"request","command":"cancel","arguments":{"progressId":"other"}}`,
		`{"seq":8,"type":"request","command":"cancel","arguments":[]}`,
	} {
		s.write(s.client, request)
		s.expect(s.toPeer, request)
	}
}

// TestDisconnectCancels: the end of a session does not wait for clew's work.
func TestDisconnectCancels(t *testing.T) {
	s := start(t, Options{})
	s.write(s.client, `{"seq":1,"type":"request","command":"clew/work"}`)
	<-s.working
	s.write(s.client, `{"seq":2,"type":"request","command":"disconnect"}`)
	s.contains(s.fromBridge, `"request_seq":1,"success":false`, `"message":"cancelled"`)
	s.expect(s.toPeer, `{"seq":2,"type":"request","command":"disconnect"}`)
}

// TestClientGone: a client that closes its connection ends the work for it, and the
// upstream's connection.
func TestClientGone(t *testing.T) {
	s := start(t, Options{})
	s.write(s.client, `{"seq":1,"type":"request","command":"clew/work"}`)
	ctx := <-s.working
	_ = s.client.Close()
	<-ctx.Done()
	if _, err := s.toPeer.Read(); !errors.Is(err, io.EOF) {
		t.Errorf("the upstream sees %v", err)
	}
	s.ended()
	if s.bridge.Context().Err() == nil {
		t.Error("the session's context goes on")
	}
}

// TestUpstreamGone: requests without an answer end, and the client's connection. A session
// in this process has nothing to tell.
func TestUpstreamGone(t *testing.T) {
	s := start(t, Options{})
	s.write(s.client, `{"seq":1,"type":"request","command":"ask"}`)
	s.contains(s.toPeer, "ask")
	_ = s.peer.Close()
	for {
		if _, err := s.fromBridge.Read(); err != nil {
			break
		}
	}
	s.ended()
	if s.lost {
		t.Error("the handler takes the session for lost")
	}
}

// TestLost: a client of another process's session is told why its requests have no answer.
func TestLost(t *testing.T) {
	for _, over := range []bool{false, true} {
		s := start(t, Options{Lost: "the server is gone"})
		s.write(s.client, `{"seq":1,"type":"request","command":"a"}`)
		s.contains(s.toPeer, `"a"`)
		s.write(s.client, `{"seq":2,"type":"request","command":"b"}`)
		s.contains(s.toPeer, `"b"`)
		s.write(s.peer, `{"seq":1,"type":"response","request_seq":1,"success":true,"command":"a"}`)
		s.contains(s.fromBridge, `"request_seq":1,"success":true`)
		if over {
			s.write(s.peer, `{"seq":2,"type":"event","event":"terminated"}`)
			s.contains(s.fromBridge, `"terminated"`)
		}
		_ = s.peer.Close()
		s.contains(s.fromBridge, `"request_seq":2,"success":false,"command":"b"`, "the server is gone", `"id":2102`)
		if !over {
			s.contains(s.fromBridge, `"event":"output"`, `"category":"important"`, "clew: the server is gone")
			s.contains(s.fromBridge, `"event":"terminated"`)
		}
		if got, err := s.fromBridge.Read(); !errors.Is(err, io.EOF) {
			t.Errorf("then comes %s, %v", got, err)
		}
		s.ended()
		if !s.lost {
			t.Error("the handler is not told")
		}
	}
}

// TestLostMalformed: the end after a malformed message is all that a client gets of it, as from Delve itself; after a later
// request it is told why there is no answer.
func TestLostMalformed(t *testing.T) {
	for _, later := range []bool{false, true} {
		s := start(t, Options{Lost: "the server is gone"})
		s.write(s.client, `{"seq":1,"type":`)
		s.contains(s.toPeer, `{"seq":1,"type":`)
		if later {
			s.write(s.client, `{"seq":2,"type":"request","command":"b"}`)
			s.contains(s.toPeer, `"b"`)
		}
		_ = s.peer.Close()
		if later {
			s.contains(s.fromBridge, `"request_seq":2,"success":false,"command":"b"`, "the server is gone")
			s.contains(s.fromBridge, `"event":"output"`)
			s.contains(s.fromBridge, `"event":"terminated"`)
		}
		if got, err := s.fromBridge.Read(); !errors.Is(err, io.EOF) {
			t.Errorf("later %v: then comes %s, %v", later, got, err)
		}
		s.ended()
	}
}

// TestRefuse: a client for which there is no Delve is told so once.
func TestRefuse(t *testing.T) {
	for request, refused := range map[string]bool{
		`{"seq":3,"type":"request","command":"initialize"}`: true,
		`{"seq":3,"type":"event","event":"initialize"}`:     false,
		`{`: false,
	} {
		client, ours := net.Pipe()
		go func() {
			Refuse(ours, 0, errors.New("no server there"))
			_ = ours.Close()
		}()
		if err := dapwire.Write(client, []byte(request)); err != nil {
			t.Fatal(err)
		}
		got, err := dapwire.NewReader(client, 0).Read()
		if refused != (err == nil) {
			t.Fatalf("%s: %s, %v", request, got, err)
		}
		if refused && !strings.HasPrefix(string(got), `{"seq":1,"type":"response","request_seq":3,"success":false,"command":"initialize",`) || refused && !strings.Contains(string(got), "no server there") {
			t.Errorf("%s", got)
		}
	}
}

// TestMalformed: broken framing is answered and ends the session; broken JSON is Delve's
// to judge.
func TestMalformed(t *testing.T) {
	s := start(t, Options{})
	s.write(s.client, `no JSON at all`)
	s.expect(s.toPeer, `no JSON at all`)
	s.write(s.client, `{"seq":9,"type":"nonsense"}`)
	s.expect(s.toPeer, `{"seq":9,"type":"nonsense"}`)
	if _, err := io.WriteString(s.client, "Content-Length: -1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	s.contains(s.fromBridge, `"success":false`, "not a number of bytes", `"id":8888`)
	if _, err := s.toPeer.Read(); !errors.Is(err, io.EOF) {
		t.Errorf("the upstream sees %v", err)
	}
}

// answerHead is how the upstream of these tests begins its answers.
var answerHead = regexp.MustCompile(`^\{"seq":\d+,"type":"response","request_seq":(\d+),"success":(?:true|false),"command":"([^"\\]*)"`)
