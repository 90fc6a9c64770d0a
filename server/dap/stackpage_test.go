package dap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/frames"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/server/stop/stoptest"
	"github.com/clewdbg/clew/unwind"
)

// played is a session about a program that exists in the test only:
// the proxy is between the client and a debugger that has the program's frames.
type played struct {
	*pair
	program *stoptest.Program
	stacks  atomic.Int32 // stackTrace requests that the debugger was asked
	seq     int
	events  chan string
	plays   map[string]string // bodies of other requests' answers, by command
}

// fixedStrategies are the strategies for the program's C code.
type fixedStrategies struct{ trust unwind.Trust }

func (fixedStrategies) Check(debuggee.StrategyConfig) error { return nil }

func (s fixedStrategies) Open(debuggee.StrategyConfig) (*debuggee.Strategies, error) {
	return &debuggee.Strategies{Order: stoptest.Strategies(s.trust)}, nil
}

// playProgram begins a session with a program that has stopped.
func playProgram(t *testing.T, program *stoptest.Program, trust unwind.Trust) *played {
	t.Helper()
	s := &played{program: program, events: make(chan string, 16)}
	s.pair = newPair(t, Options{
		Remote:     func(context.Context) (debuggee.Target, stop.Program, error) { return program, program, nil },
		Strategies: fixedStrategies{trust},
	})
	go s.answer(s.peer)
	s.event("initialized", "")
	s.stop()
	return s
}

// event has the debugger send an event, and waits until the client has it.
func (s *played) event(name, body string) {
	s.t.Helper()
	s.events <- fmt.Sprintf(`{"seq":1,"type":"event","event":%q%s}`, name, body)
	if m := s.message(); m.Event != name {
		s.t.Fatalf("the client gets %s", m.Bytes())
	}
}

func (s *played) stop() {
	s.t.Helper()
	s.event("stopped", `,"body":{"reason":"pause","threadId":1}`)
}

func (s *played) message() *dapwire.Message {
	s.t.Helper()
	content, err := s.fromProxy.Read()
	if err != nil {
		s.t.Fatal(err)
	}
	m, err := dapwire.Parse(content)
	if err != nil {
		s.t.Fatal(err)
	}
	return m
}

// answer plays the debugger.
func (s *played) answer(peer net.Conn) {
	requests := make(chan *dapwire.Message)
	go func() {
		defer close(requests)
		for {
			content, err := s.toPeer.Read()
			if err != nil {
				return
			}
			if m, err := dapwire.Parse(content); err == nil {
				requests <- m
			}
		}
	}()
	for {
		var text []byte
		select {
		case e := <-s.events:
			text = []byte(e)
		case m, ok := <-requests:
			if !ok {
				return
			}
			if text = s.response(m); text == nil {
				return
			}
		}
		if dapwire.Write(peer, text) != nil {
			return
		}
	}
}

func (s *played) response(m *dapwire.Message) []byte {
	if m.Command == "stackTrace" {
		s.stacks.Add(1)
	}
	body, err := s.body(m)
	if err != nil {
		return fmt.Appendf(nil, `{"seq":1,"type":"response","request_seq":%d,"success":false,"command":%q,"message":%q}`, m.Seq, m.Command, err.Error())
	}
	return fmt.Appendf(nil, `{"seq":1,"type":"response","request_seq":%d,"success":true,"command":%q,"body":%s}`, m.Seq, m.Command, body)
}

// body is the debugger's own page of a stack: frame n has the ID 1000+n.
func (s *played) body(m *dapwire.Message) ([]byte, error) {
	var want frames.Page
	switch {
	case m.Command == "threads" && s.program.Library:
		return []byte(`{"threads":[{"id":1,"name":"Dummy"}]}`), nil
	case m.Command == "threads":
		return []byte(`{"threads":[{"id":1,"name":"* [Go 1] main.climb (Thread 100)"},{"id":2,"name":"[Go 2] main.climb"}]}`), nil
	case s.plays[m.Command] != "":
		return []byte(s.plays[m.Command]), nil
	case m.Command != "stackTrace":
		return nil, errors.New("not played")
	}
	if err := m.Decode("arguments", &want); err != nil {
		return nil, err
	}
	id := want.ThreadID
	if id < 0 {
		id = int64(s.program.Selection.Goroutine)
	}
	if id != stoptest.Goroutine && id != stoptest.Parked {
		return nil, fmt.Errorf("unknown goroutine %d", id)
	}
	all := s.program.DelveFrames(stop.Key{Goroutine: uint64(id)})
	if want.Levels <= 0 {
		want.Levels = debuggee.DefaultDepth
	}
	frames := []json.RawMessage{}
	for n := want.StartFrame; n < min(len(all), want.StartFrame+want.Levels); n++ {
		frames = append(frames, s.frame(n, all[n].Function, all[n].PC.Raw()))
	}
	return json.Marshal(map[string]any{"stackFrames": frames, "totalFrames": want.StartFrame + want.Levels})
}

func (s *played) frame(n int, name string, pc uint64) json.RawMessage {
	return fmt.Appendf(nil, `{"id":%d,"name":%q,"line":7,"column":0,"instructionPointerReference":"%#x"}`, 1000+n, name, pc)
}

// request sends a request of the client's, and returns the answer.
func (s *played) request(command string, arguments any) *dapwire.Message {
	s.t.Helper()
	text, err := json.Marshal(arguments)
	if err != nil {
		s.t.Fatal(err)
	}
	s.seq++
	s.write(s.client, fmt.Sprintf(`{"seq":%d,"type":"request","command":%q,"arguments":%s}`, s.seq, command, text))
	for {
		if m := s.message(); m.Type == dapwire.TypeResponse {
			return m
		}
	}
}

// shownFrame is a frame as the client is shown it.
type shownFrame struct {
	ID   int64
	Name string
	Hint string `json:"presentationHint"`
}

func (s *played) page(thread int64, start, levels int) (rows []shownFrame, total int) {
	s.t.Helper()
	m := s.request("stackTrace", frames.Page{ThreadID: thread, StartFrame: start, Levels: levels})
	var body struct {
		StackFrames []shownFrame
		TotalFrames int
	}
	if err := m.Decode("body", &body); err != nil || !m.Success {
		s.t.Fatalf("%s, %v", m.Bytes(), err)
	}
	return body.StackFrames, body.TotalFrames
}

// TestPagesOfGo: pages of a Go stack are Delve's own, each by one request to
// Delve, and the total is exact at the end.
func TestPagesOfGo(t *testing.T) {
	const frames = 100
	s := playProgram(t, stoptest.New(frames), unwind.TrustCFI)
	start := 0
	for i, levels := range []int{1, 19, 80} {
		got, total := s.page(stoptest.Goroutine, start, levels)
		if len(got) != levels || got[0].ID != int64(1000+start) || (total == frames) != (i == 2) {
			t.Errorf("page %d: %d frames, total %d: %+v", i, len(got), total, got)
		}
		start += levels
	}
	if s.stacks.Load() != 3 {
		t.Errorf("%d requests to the debugger", s.stacks.Load())
	}
	if asked := s.program.Asked(); len(asked) != 0 {
		t.Errorf("Delve was asked for %v frames besides", asked)
	}
}

// TestPageThatDelveHasWrong: a frame that Delve alone has is not shown; the others
// keep Delve's IDs.
func TestPageThatDelveHasWrong(t *testing.T) {
	program := stoptest.New(30)
	program.Extra = 0x501020
	s := playProgram(t, program, unwind.TrustCFI)
	got, total := s.page(stoptest.Goroutine, 0, 20)
	if len(got) != 20 || total < 20 || got[0].ID != 1000 || got[1].ID != 1002 || got[19].ID != 1020 {
		t.Errorf("total %d: %+v", total, got)
	}
	rest, total := s.page(stoptest.Goroutine, 20, 20)
	if len(rest) != 10 || total != 30 || rest[9].ID != 1030 || rest[9].Name != "runtime.goexit" {
		t.Errorf("total %d: %+v", total, rest)
	}
}

// TestPagesOfC: a thread that Delve does not know has frames with IDs of clew's,
// the same from request to request, and void at the next stop.
func TestPagesOfC(t *testing.T) {
	const frames, thread = 50, debuggee.FirstID + stoptest.CThread
	s := playProgram(t, stoptest.New(frames), unwind.TrustFramePointer)
	first, total := s.page(thread, 0, 20)
	if len(first) != 20 || total <= 20 || first[0].Name != "leaf" || first[1].Hint != "label" || !strings.Contains(first[1].Name, "by frame pointer") {
		t.Fatalf("total %d: %+v", total, first)
	}
	seen := make(map[int64]bool)
	for _, f := range first {
		if f.ID < debuggee.FirstID || seen[f.ID] {
			t.Errorf("ID %d", f.ID)
		}
		seen[f.ID] = true
	}
	all, total := s.page(thread, 0, 1000)
	if len(all) != frames+1 || total != frames+1 || all[frames].Name != "start" {
		t.Fatalf("%d rows, total %d: %+v", len(all), total, all)
	}
	for i := range first {
		if all[i] != first[i] {
			t.Errorf("row %d: %+v, then %+v", i, first[i], all[i])
		}
	}
	if beyond, total := s.page(thread, 1000, 20); len(beyond) != 0 || total != frames+1 {
		t.Errorf("beyond the end: %+v, total %d", beyond, total)
	}
	if m := s.request("scopes", map[string]int64{"frameId": first[2].ID}); !m.Success {
		t.Errorf("scopes: %s", m.Bytes())
	}
	s.stop()
	if m := s.request("scopes", map[string]int64{"frameId": first[2].ID}); m.Success || !strings.Contains(string(m.Bytes()), "not of the present stop") {
		t.Errorf("scopes of an old frame: %s", m.Bytes())
	}
}

// TestPageOfAProgramThatMoves: what was found before another client let the
// program run is found anew.
func TestPageOfAProgramThatMoves(t *testing.T) {
	program := stoptest.New(30)
	program.Extra = 0x501020
	s := playProgram(t, program, unwind.TrustCFI)
	for _, moved := range []error{nil, live.ErrMoved} {
		views := program.Views()
		program.Move(moved)
		if got, _ := s.page(stoptest.Goroutine, 0, 3); got[1].ID != 1002 {
			t.Fatalf("%+v", got)
		}
		if again := program.Views() > views; again != (moved != nil) && views > 0 {
			t.Errorf("moved: %v, viewed again: %v", moved, again)
		}
	}
}

// TestStackWhileItRuns: Delve's refusal goes out as it is.
func TestStackWhileItRuns(t *testing.T) {
	s := playProgram(t, stoptest.New(30), unwind.TrustCFI)
	s.event("continued", `,"body":{"threadId":1}`)
	got, total := s.page(stoptest.Goroutine, 0, 3)
	if len(got) != 3 || total != 3 {
		t.Errorf("total %d: %+v", total, got)
	}
	if m := s.request("scopes", map[string]int64{"frameId": debuggee.FirstID}); m.Success || !strings.Contains(string(m.Bytes()), "debuggee is running") {
		t.Errorf("%s", m.Bytes())
	}
}

// TestWorkAtAStop: the session's work knows whether the program stands, and a
// cancelled request ends it.
func TestWorkAtAStop(t *testing.T) {
	p := New(Options{Client: nopCloser{}, Upstream: nopCloser{}, Patience: time.Minute})
	do := func(work func(context.Context, *debuggee.View) error) error {
		return p.program.AtStop(context.Background(), 5, work)
	}
	fine := func(context.Context, *debuggee.View) error { return nil }
	if err := do(fine); !errors.Is(err, stop.ErrRunning) {
		t.Errorf("while the program runs: %v", err)
	}
	p.state.Stops()
	if err := do(fine); !errors.Is(err, stop.ErrNoProgram) {
		t.Errorf("without a program: %v", err)
	}
	program := stoptest.New(3)
	p.program.Stops.Watch(program, program)
	var first *debuggee.View
	if err := do(func(_ context.Context, v *debuggee.View) error { first = v; return nil }); err != nil || first.Target != debuggee.Target(program) {
		t.Errorf("%+v, %v", first, err)
	}
	if err := do(func(_ context.Context, v *debuggee.View) error {
		if v != first {
			t.Error("the stop's view is not kept")
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	p.state.Writes()
	if err := do(func(ctx context.Context, v *debuggee.View) error {
		if v == first {
			t.Error("the view is kept after a write")
		}
		if p.program.Stops.Cancel(6) || !p.program.Stops.Cancel(5) {
			t.Error("the wrong request was cancelled")
		}
		<-ctx.Done()
		return ctx.Err()
	}); !errors.Is(err, stop.ErrCancelled) && !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	program.Move(live.ErrMoved)
	before, _ := p.state.At()
	if err := do(fine); err != nil {
		t.Errorf("after it has moved: %v", err)
	}
	if at, _ := p.state.At(); at.Epoch != before.Epoch+1 {
		t.Errorf("epoch %d, then %d: frames' IDs of before are not void", before.Epoch, at.Epoch)
	}
}
